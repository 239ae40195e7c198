"""Which server of OpenAI's protocol answers a model id, at which URL, and with which key and headers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from pytest_factorfair.domain import listed
from pytest_factorfair.errors import InputError, ModelError
from pytest_factorfair.models import litellm_catalogue, openai_errors
from pytest_factorfair.models.http_client import Reply
from pytest_factorfair.models.openai_errors import Complaint
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import (
    conceal,
    conceal_keys,
    conceal_path,
    conceal_variable,
    fit,
    redacted,
    shown_url,
)

# By the word before the slash of an id: the environment variables of the base URL and of the key.
_VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class Server:
    """An OpenAI-compatible server.

    ``key_from`` is the variable that holds its key, "" if it needs none, and ``own_headers`` are those that
    the user set. ``base_url`` may end with a query, which is part of every URL.
    """

    model: str
    base_url: str
    key_from: str
    key: str = field(repr=False)
    own_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def url(self, path: str) -> str:
        """The URL of a path of the server; the path may have a query of its own."""
        base, _, query = self.base_url.partition("?")
        separator = "&" if "?" in path else "?"
        return f"{base}/{path}{separator}{query}" if query else f"{base}/{path}"

    @property
    def host(self) -> str:
        """Host and port; models with the same value share limits."""
        return urlsplit(self.base_url).netloc

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every call; the only place where the key and the user's headers are used."""
        plain = {"Content-Type": "application/json", "User-Agent": "pytest-factorfair"}
        own = {name.lower() for name in self.own_headers}
        key = {"Authorization": f"Bearer {self.key}"} if self.key and "authorization" not in own else {}
        return plain | key | dict(self.own_headers)

    def error(self, name: str, reply: Reply, server_complaint: Complaint, *, absent: str) -> ModelError:
        """The error of a failed call: an explanation of its status, followed by the server's message.

        ``name`` is the model's, and ``absent`` what a 404 may mean.
        """
        message, address = fit(server_complaint.message), shown_url(self.base_url)
        if reply.status in openai_errors.REDIRECTS:
            target = fit(reply.headers.get("Location", "").partition("?")[0])
            reasons = [f"{address} redirects to '{target}'; give the right base_url"]
        elif server_complaint.cause(reply.status, model=self.model).kind == "address":
            reasons = [f"nothing answers under {address}"]
        else:
            ours: dict[int, str] = {HTTPStatus.UNAUTHORIZED: self._refused_key}
            if server_complaint.cause(reply.status, model=self.model).kind == "status":
                ours[HTTPStatus.NOT_FOUND] = f"{absent}, or nothing answers under {address}"
            reasons = [reason for reason in (ours.get(reply.status), message) if reason]
        line = ": ".join((f"{name}: {openai_errors.named(reply.status)}{reply.via}", *reasons))
        return openai_errors.error_of(
            reply.status, line, server_complaint, headers=reply.headers, model=self.model
        )

    @property
    def _refused_key(self) -> str:
        if self.key:
            return f"the key in {self.key_from} was refused"
        if self.own_headers:
            return f"{listed(tuple(self.own_headers))} did not suffice"
        return "it requires a key: name its variable with api_key_env"

    @property
    def provider(self) -> str | None:
        """The provider whose own service this is, so that its listed prices apply; None if unknown."""
        return litellm_catalogue.provider_at(urlsplit(self.base_url).hostname or "")

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own service, which requires a key."""
        return self.provider == "openai"


def locate(
    spec: ModelSpec, *, base_url: str | None, api_key_env: str | None, header: Mapping[str, str] | None = None
) -> Server:
    """Work out which server answers a model id, at which URL and with which key.

    ``openai/`` and ``hosted_vllm/`` are our own prefixes and are not sent; any other id is sent to
    ``base_url`` unchanged, with a key only if ``api_key_env`` names one.

    Raises:
        InputError: the base URL is missing or wrong, or the key is missing or malformed.
    """
    prefix, _, suffix = spec.text.partition("/")
    url_from, key_from = _VARIABLES.get(prefix, ("", ""))
    model = suffix if url_from else spec.text
    if not model:
        raise InputError(f"model '{spec.text}': a model name must follow the slash, as in {prefix}/NAME")
    openai = litellm_catalogue.ADDRESSES["openai"] if prefix == "openai" else ""
    typed = base_url or os.environ.get(url_from) or openai
    if not (typed or spec.folder):
        either = f" (or set {url_from})" if url_from else ""
        raise InputError(
            f"model '{spec.text}': give its server with --factorfair-model-arg base_url=http://HOST:PORT/v1{either}"
        )
    name = api_key_env or key_from
    own_headers = headers_in(spec, header or {})
    server = Server(model, typed and api_url(spec, typed), key_from="", key="", own_headers=own_headers)
    key = key_in(spec, name, needed=bool(api_key_env) or (server.is_openai and not own_headers))
    return replace(server, key_from=name, key=key) if key else server


def api_url(spec: ModelSpec, url: str) -> str:
    """Validate a base URL, and remove an API path at its end, which is appended to it later.

    Raises:
        InputError: see ``checked_url``.
    """
    base, _, query = checked_url(spec, url).partition("?")
    base = base.rstrip("/").removesuffix("/chat/completions").removesuffix("/images/generations").rstrip("/")
    return f"{base}?{query}" if query else base


def checked_url(spec: ModelSpec, url: str, *, what: str = "base URL") -> str:
    """Validate a URL; messages say ``what`` it is.

    Raises:
        InputError: it is no server's URL, or contains a user name or password, which reports would show.
    """
    try:
        parts = urlsplit(url.strip())
        conceal_path(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    where = f"model '{spec.text}': {what} '{shown_url(url)}'"
    if not usable:
        raise InputError(f"{where} is not a valid server URL; expected e.g. http://localhost:8000/v1")
    if "@" in parts.netloc:
        raise InputError(
            f"model '{spec.text}': the {what} of {parts.hostname} contains a user name or password; "
            "put the key in an environment variable and name it with api_key_env"
        )
    if parts.fragment:
        raise InputError(f"{where} must end before the '#'")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        conceal_keys(value)
        if _SECRET_PARAMETER.search(name):
            raise InputError(
                f"{where}: the query would show a secret in reports; put it in an environment variable and "
                "name it with header.NAME or api_key_env"
            )
    return url.strip()


_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset({"content-type", "content-length", "transfer-encoding", "connection"})
_SECRET_PARAMETER = re.compile(r"(?i)key|token|secret|password|credential|sig|auth|^code$")
_NOUNS = {"api_key_env": "key"}


def headers_in(spec: ModelSpec, header: Mapping[str, str]) -> dict[str, str]:
    """Read the user's headers from the environment variables that ``header`` names.

    Raises:
        InputError: a header's name is wrong or the run's own, or its variable is missing or malformed.
    """
    headers = {}
    for name, variable in header.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            reason = "the run sets it" if name.lower() in _OWN_HEADERS else "it is not the name of a header"
            raise InputError(f"model '{spec.text}': argument 'header.{fit(name)}' cannot be given: {reason}")
        value = key_in(spec, variable, needed=True, argument=f"header.{name}")
        if value or spec.asked:
            headers[name] = value
    return headers


def key_in(spec: ModelSpec, name: str, *, needed: bool, argument: str = "api_key_env") -> str:
    """Read a secret from an environment variable; "" if there is none and it is not ``needed``.

    Raises:
        InputError: it is needed and missing, or malformed.
    """
    key = os.environ.get(name, "").strip() if name else ""
    conceal_variable(name)
    conceal(key)
    if needed and spec.asked and not key:
        remedy = f"set the environment variable {name}"
        if name != redacted(name):
            remedy = f"{argument} takes the name of the environment variable that holds it"
        raise InputError(f"model '{spec.text}': no {_NOUNS.get(argument, argument)}: {remedy}")
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"model '{spec.text}': the key in {name} has characters that are invalid in headers")
    return key
