"""An application of one's own behind an HTTP address: ``endpoint:https://HOST/PATH``.

Every prompt is sent with POST. Arguments: body ('{"prompt": "{prompt}"}'), JSON in whose texts ``{prompt}``
stands for the prompt; reply (by default the whole reply is the text), the path to the text in a reply in
JSON, such as ``choices.0.message.content``; version, to ask again after a change; timeout (120 s);
api_key_env and ``header.NAME``, the names of environment variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from pytest_factorfair.domain import Request, Response, utf8
from pytest_factorfair.errors import FOREIGN_REPLY, InputError, RetryableModelError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import SECRETS, Arguments, PassThrough, Seconds, Text
from pytest_factorfair.models.http_client import HttpClient
from pytest_factorfair.models.openai_errors import complaint
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.server import Server, checked_url, headers_in, key_in
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit, shown_url

PROMPT = "{prompt}"
LARGEST = 16 * 2**20


class EndpointArguments(Arguments):
    """The arguments of an endpoint."""

    body: Text = json.dumps({"prompt": PROMPT})
    reply: Text | None = None
    version: Text | None = None
    timeout: Seconds = 120
    api_key_env: Text | None = None
    header: Annotated[dict[str, str], PassThrough(from_environment=True)] = Field(default_factory=dict)


def build(spec: ModelSpec) -> Model:
    """Build the model of an address; no connection is made.

    Raises:
        InputError: the address or an argument is wrong, or a variable is missing.
    """
    asked = arguments.read(spec, EndpointArguments)
    url = checked_url(spec, spec.target, what="address")
    where = f"model '{spec.text}': argument 'body'"
    try:
        body = json.loads(asked.body)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}; write it like {EndpointArguments().body}") from None
    if not any(PROMPT in text for text in _texts(body)):
        raise InputError(f"{where} has no text with {PROMPT}; write it like {EndpointArguments().body}")
    for name in _keys(body):
        if name.lower() in SECRETS:
            raise InputError(
                f"{where} would show a secret, its '{name}', in reports; put it in an environment variable "
                "and name it with header.NAME or api_key_env"
            )
    server = Server(
        spec.target,
        url,
        key_from=asked.api_key_env or "",
        key=key_in(spec, asked.api_key_env or "", needed=asked.api_key_env is not None),
        own_headers=headers_in(spec, asked.header),
    )
    return Endpoint(spec.text, server, body, asked)


class Endpoint:
    """Sends prompts to one address by HTTP."""

    parallel: int | None = None

    def __init__(self, name: str, server: Server, body: object, asked: EndpointArguments) -> None:
        self._name = name
        self._server = server
        self._body = body
        self._path = () if asked.reply is None else tuple(asked.reply.split("."))
        self._client = HttpClient(name, timeout=asked.timeout, largest=LARGEST)
        self.url = server.base_url
        self.timeout = asked.timeout
        self.endpoint = f"endpoint/{server.host}"
        self.identity: Mapping[str, object] = {
            "provider": "endpoint",
            "url": server.base_url,
            "body": asked.body,
            "reply": asked.reply,
            "version": asked.version,
        }

    def __repr__(self) -> str:
        return f"Endpoint({shown_url(self.url)!r})"

    async def ask(self, request: Request) -> Response:
        content = json.dumps(_filled(self._body, request.prompt)).encode()
        reply = await self._client.request("POST", self.url, body=content, headers=self._server.headers)
        if not reply.succeeded:
            raise self._server.error(
                self._name, reply, complaint(reply.body), absent="the application has no such path"
            )
        return Response(utf8(self._text(reply.body)))

    async def close(self) -> None:
        await self._client.close()

    def _text(self, body: bytes) -> str:
        """The text of a reply.

        Raises:
            RetryableModelError: there is none where ``reply`` says.
        """
        text = body.decode("utf-8", "replace")
        if not self._path:
            return text
        foreign = partial(RetryableModelError, cause=FOREIGN_REPLY)
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            raise foreign(f"{self._name}: the reply is not JSON: it says {fit(text)}") from None
        for step in self._path:
            if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            elif isinstance(value, dict) and step in value:
                value = value[step]
            else:
                path = ".".join(self._path)
                raise foreign(f"{self._name}: the reply has no '{path}': it says {fit(text)}")
        if value is None:
            return ""
        if not isinstance(value, str):
            raise foreign(f"{self._name}: '{'.'.join(self._path)}' is not a text: the reply says {fit(text)}")
        return value


def _filled(template: Any, prompt: str) -> Any:
    """The template with the prompt in its texts, whatever characters that has."""
    if isinstance(template, str):
        return template.replace(PROMPT, prompt)
    if isinstance(template, dict):
        return {name: _filled(value, prompt) for name, value in template.items()}
    return [_filled(value, prompt) for value in template] if isinstance(template, list) else template


def _texts(template: Any) -> list[str]:
    """All texts of the template, without the names of its fields."""
    parts = (
        template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    )
    return [template] if isinstance(template, str) else [text for part in parts for text in _texts(part)]


def _keys(template: Any) -> list[str]:
    """The names of all fields of the template."""
    own = [*template] if isinstance(template, dict) else []
    parts = (
        template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    )
    return [*own, *(name for part in parts for name in _keys(part))]
