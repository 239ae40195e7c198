"""OpenAI's protocol over HTTP: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI, LocalAI, SD servers.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or any id with ``base_url=``. ``body.KEY=VALUE`` goes into the
request body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Modality
from pytest_factorfair.errors import FOREIGN_REPLY, RetryableModelError
from pytest_factorfair.models import litellm_catalogue, openai_errors, service
from pytest_factorfair.models.http_client import HttpClient, Reply
from pytest_factorfair.models.openai_errors import Complaint, ServiceError, complaint, complaint_in
from pytest_factorfair.models.openai_format import Format, encoded
from pytest_factorfair.models.openai_images import RESPONSE_FORMAT
from pytest_factorfair.models.openai_replies import fields_of
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.server import Server, locate
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import (
    fit,
)
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchService

# By modality: the path of requests, the key of the result in a reply, the provider's name in identities.
_ROUTES: Mapping[Modality, tuple[str, str, str]] = {
    "text": ("chat/completions", "choices", "chat_completions"),
    "image": ("images/generations", "data", "image_endpoint"),
}
# These models always return base64, and reject requests that ask for it.
_ALWAYS_ENCODED = ("gpt-image", "chatgpt-image")


def build(spec: ModelSpec) -> Model:
    """Build the model of an id; arguments are validated, but no connection is made.

    Raises:
        InputError: an argument, the base URL or the key is missing or wrong, or the model does not support
            the answer mode.
        MissingExtraError: pictures are asked for, and Pillow is not installed.
    """
    asked = service.settings(spec)
    server = locate(spec, base_url=asked.base_url, api_key_env=asked.api_key_env, header=asked.header)
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
        self._target = server.url(path)
        self._client = HttpClient(name, timeout=asked.timeout, largest=asked.largest)
        self.model = self.served = server.model
        self.endpoint = f"openai/{server.host}"
        self.url = server.base_url or None
        # A listed price is the provider's own; other servers of the same model have other prices.
        self.listed_as = f"{server.provider}/{server.model}" if server.provider else None
        self.batches = partial(openai_batches, name, server) if asked.modality == "text" else None

    async def send(self, body: Mapping[str, object]) -> Mapping[str, object]:
        content = encoded({"model": self.model, **body})
        reply = await self._client.request("POST", self._target, body=content, headers=self._server.headers)
        if not reply.succeeded:
            raise self._service_error(reply, complaint(reply.body), reply.status)
        fields = fields_of(reply.body)
        if isinstance(fields.get(self._wanted), list):
            return fields
        server_complaint = complaint_in(fields)
        status = openai_errors.status_in(server_complaint)
        if status is not None:
            raise self._service_error(replace(reply, status=status), server_complaint, status)
        if fields.get("error") or server_complaint.message:
            message = f"{self._name}: an error with status {reply.status}: {fit(server_complaint.message)}"
            error = RetryableModelError(message, cause=FOREIGN_REPLY)
            raise ServiceError(error, server_complaint, status=None)
        return fields

    def _service_error(self, reply: Reply, server_complaint: Complaint, status: int) -> ServiceError:
        error = self._server.error(self._name, reply, server_complaint, absent="no such model")
        return ServiceError(error, server_complaint, status=status)

    async def close(self) -> None:
        await self._client.close()


def openai_batches(name: str, server: Server) -> BatchService:
    """The batches of a server with OpenAI's protocol."""
    batches: BatchService = Wing.OPENAI_BATCHES.enter().OpenAIBatches(name, server)
    return batches
