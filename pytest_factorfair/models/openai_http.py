"""OpenAI's protocol over HTTP: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI, LocalAI, SD servers.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or any id with ``base_url=``. ``body.KEY=VALUE`` goes into the
request body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from pydantic_core import to_json

from pytest_factorfair.domain import Modality
from pytest_factorfair.errors import ModelError
from pytest_factorfair.models import litellm_catalogue, openai_errors, service
from pytest_factorfair.models.http_client import HttpClient, Reply
from pytest_factorfair.models.openai_errors import ServiceError, complaint, parsed
from pytest_factorfair.models.openai_format import Format
from pytest_factorfair.models.openai_images import RESPONSE_FORMAT
from pytest_factorfair.models.openai_server import Server, locate
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit

# The path of requests, the key of the result in a reply, and the provider's name in identities.
_ROUTES: Mapping[Modality, tuple[str, str, str]] = {
    "text": ("chat/completions", "choices", "chat_completions"),
    "image": ("images/generations", "data", "image_endpoint"),
}
# These models always send base64, and reject a request that asks for it.
_ALWAYS_ENCODED = ("gpt-image", "chatgpt-image")


def build(spec: ModelSpec) -> Model:
    """The model of an id, validated and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or wrong, or the model cannot answer so.
        MissingExtraError: pictures are asked for, and Pillow is not installed.
    """
    asked = service.settings(spec)
    server = locate(spec, base_url=asked.base_url, api_key_env=asked.api_key_env)
    if asked.modality == "image" and not server.model.startswith(_ALWAYS_ENCODED):
        asked = asked.model_copy(update={"body": {RESPONSE_FORMAT: "b64_json", **asked.body}})
    if server.is_openai:
        litellm_catalogue.check(spec, spec.text)
    transport = HttpTransport(spec.text, server, asked)
    return service.build(spec, transport, asked, openai=server.is_openai)


class HttpTransport:
    """Sends requests to one server by HTTP."""

    def __init__(self, name: str, server: Server, asked: Format) -> None:
        path, self._wanted, self.provider = _ROUTES[asked.modality]
        self._name = name
        self._server = server
        self._target = f"{server.base_url}/{path}"
        self._client = HttpClient(name, timeout=asked.timeout, largest=asked.largest)
        self.model = server.model
        self.endpoint = f"openai/{server.host}"
        self.url = server.base_url
        # Another server of the same model has its own price.
        self.listed_as = name if server.is_openai else None

    async def send(self, body: Mapping[str, object]) -> Mapping[str, object]:
        content = {"model": self.model, **body}
        try:
            encoded = to_json(content)
        except ValueError:  # half a surrogate pair, which only Python's encoder can escape
            encoded = json.dumps(content).encode()
        reply = await self._client.post(self._target, encoded, self._server.headers)
        value = parsed(reply.body) if reply.succeeded else {}
        if reply.succeeded and (self._wanted in value or "error" not in value):
            return value
        said = complaint(reply.body)
        status = openai_errors.status_in(said) if reply.succeeded else reply.status
        raise ServiceError(
            self._error(status, reply),
            said,
            is_filtered=status in openai_errors.REFUSALS and said.is_filter,
            adaptable=reply.status == HTTPStatus.BAD_REQUEST,
        )

    async def close(self) -> None:
        await self._client.close()

    def _error(self, status: int, reply: Reply) -> ModelError:
        """The error of a failed call: what the status means here, then the message of the server."""
        server, said = self._server, complaint(reply.body)
        message = fit(said.message, server.key)
        if status in openai_errors.REDIRECTS:
            target = fit(reply.headers.get("Location", "").partition("?")[0], server.key)
            reasons = [f"{server.base_url} redirects to '{target}'; give the right base_url"]
        else:
            ours: dict[int, str] = {
                HTTPStatus.UNAUTHORIZED: f"the key in {server.key_from} was refused"
                if server.key
                else "it requires a key: name its variable with api_key_env",
                HTTPStatus.NOT_FOUND: f"no such model, or nothing answers under {server.base_url}",
            }
            reasons = [reason for reason in (ours.get(status), message) if reason]
        line = ": ".join((f"{self._name}: {openai_errors.named(status)}", *reasons))
        return openai_errors.error_of(status, line, codes=said.codes, headers=reply.headers)
