"""The server of a model id: model name, base URL and key."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import shown_url

OPENAI_URL = "https://api.openai.com/v1"
# By the word before the slash: the variable of the base URL, that of the key.
_VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class Server:
    """An OpenAI-compatible service. ``key_from`` is the variable of the key, empty without one."""

    model: str
    base_url: str
    key_from: str
    key: str = field(repr=False)

    @property
    def host(self) -> str:
        """Host and port; models with the same value share limits."""
        return urlsplit(self.base_url).netloc

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every call; the key is used nowhere else."""
        plain = {"Content-Type": "application/json", "User-Agent": "pytest-factorfair"}
        return plain | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI itself answers, so that its prices hold and a key is needed."""
        return f".{urlsplit(self.base_url).hostname}".endswith(".api.openai.com")


def locate(spec: ModelSpec, *, base_url: str | None, api_key_env: str | None) -> Server:
    """The server of an id.

    ``openai/`` and ``hosted_vllm/`` are our own prefixes and are not sent; any other id is sent to
    ``base_url`` unchanged, with a key only if ``api_key_env`` names one.

    Raises:
        InputError: the base URL is missing or wrong, or the key is missing or malformed.
    """
    named, _, rest = spec.text.partition("/")
    url_from, key_from = _VARIABLES.get(named, ("", ""))
    model = rest if url_from else spec.text
    if not model:
        raise InputError(f"model '{spec.text}': a model name must follow the slash, as in {named}/NAME")
    typed = base_url or os.environ.get(url_from) or (OPENAI_URL if named == "openai" else "")
    if not typed:
        either = f" (or set {url_from})" if url_from else ""
        raise InputError(
            f"model '{spec.text}': give its server with --factorfair-model-arg base_url=http://HOST:PORT/v1{either}"
        )
    name = api_key_env or key_from
    server = Server(model, checked_url(spec, typed), key_from="", key="")
    key = key_in(spec, name, needed=bool(api_key_env) or server.is_openai)
    return replace(server, key_from=name, key=key) if key else server


def checked_url(spec: ModelSpec, url: str) -> str:
    """The base URL without the paths that are appended to it.

    Raises:
        InputError: it is not a base URL, or contains a password, which reports would show.
    """
    where = f"model '{spec.text}': base URL '{shown_url(url)}'"
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{where} is not a valid server URL; expected e.g. http://localhost:8000/v1")
    if "@" in parts.netloc:
        raise InputError(
            f"model '{spec.text}': the base URL of {parts.hostname} contains a user name or password; "
            "put the key in an environment variable and name it with api_key_env"
        )
    if parts.query or parts.fragment:
        raise InputError(f"{where} must end before the '{'?' if parts.query else '#'}'")
    base = url.strip().rstrip("/")
    return base.removesuffix("/chat/completions").removesuffix("/images/generations").rstrip("/")


def key_in(spec: ModelSpec, name: str, *, needed: bool) -> str:
    """The key in an environment variable, "" without one; a model that is not asked needs none.

    Raises:
        InputError: it is needed and missing, or malformed.
    """
    key = os.environ.get(name, "").strip() if name else ""
    if needed and spec.asked and not key:
        raise InputError(f"model '{spec.text}': no key: set the environment variable {name}")
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"model '{spec.text}': the key in {name} has characters that are invalid in headers")
    return key
