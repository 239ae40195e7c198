"""OpenAI-compatible chat completions over aiohttp: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or anything at all with ``base_url=``. The arguments are
those of ``chat_settings``; ``body.KEY=VALUE`` goes into the request body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import RetryableModelError
from pytest_factorfair.models.chat_endpoint import Endpoint, locate
from pytest_factorfair.models.chat_errors import complaint, error_of, status_inside
from pytest_factorfair.models.chat_replies import MalformedReplyError, parsed, response_of
from pytest_factorfair.models.chat_settings import Parameters, Settings, settings, without_refused
from pytest_factorfair.models.prices import price
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import HttpClient, Reply


def build(spec: ModelSpec) -> Model:
    """The model of an id, checked and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or cannot be right.
    """
    asked = settings(spec)
    endpoint = locate(spec, base_url=asked.base_url, api_key_env=asked.api_key_env)
    return ChatCompletions(spec.text, endpoint, asked)


class ChatCompletions:
    """One model of one service; a parameter that the model turns out not to take is left out from then on."""

    parallel: int | None = None

    def __init__(self, name: str, endpoint: Endpoint, settings: Settings) -> None:
        self._name = name
        self._endpoint = endpoint
        self._settings = settings
        self._parameters = settings.parameters
        self._client: HttpClient | None = None
        self._price: tuple[float, float] | None = None
        self.endpoint = f"openai/{endpoint.host}"
        self.identity: Mapping[str, object] = {
            "provider": "chat_completions",
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"ChatCompletions({self._name!r}, {self._endpoint.base_url!r})"

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""
        client = self._connected()
        sent = self._parameters
        reply = await client.post(self._body(sent, request))
        if reply.status == HTTPStatus.BAD_REQUEST and self._adapts(sent, reply):
            raise RetryableModelError(f"{self._name}: a parameter was refused", at_once=True)
        response = self._response(reply)
        notes = self._settings.notes(sent)
        return replace(response, notes=notes) if notes else response

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> HttpClient:
        if self._client is None:
            # aiohttp takes 0.2 s to import, and its session belongs to the running loop.
            from pytest_factorfair.models.http_client import HttpClient

            self._client = HttpClient(
                f"{self._endpoint.base_url}/chat/completions",
                headers=self._endpoint.headers,
                timeout=self._settings.timeout,
                name=self._name,
            )
            self._price = price(self._name) if self._endpoint.is_openai else None
        return self._client

    def _body(self, parameters: Parameters, request: Request) -> bytes:
        seed, messages = self._settings.seed(request), self._settings.messages(request)
        return json.dumps(
            {"model": self._endpoint.model, **parameters, **seed, "messages": messages}
        ).encode()

    def _adapts(self, sent: Parameters, reply: Reply) -> bool:
        """Whether the call may succeed without what the model has just refused, and is now left out."""
        kept = without_refused(sent, complaint(reply.body))
        if kept is not None and self._parameters is sent:
            self._parameters = kept
        return kept is not None

    def _response(self, reply: Reply) -> Response:
        try:
            value = parsed(reply.body) if reply.succeeded else {}
            if "choices" in value or (reply.succeeded and "error" not in value):
                return self._priced(response_of(value, model=self._endpoint.model))
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._name}: {error}") from None
        told = replace(reply, status=status_inside(reply.body)) if reply.succeeded else reply
        if told.status == HTTPStatus.BAD_REQUEST and complaint(told.body).is_filter:
            return Response(text="", finish="filtered", model=self._endpoint.model)
        raise error_of(self._name, self._endpoint, told)

    def _priced(self, response: Response) -> Response:
        if self._price is None or response.tokens_in is None or response.tokens_out is None:
            return response
        paid = self._price[0] * response.tokens_in + self._price[1] * response.tokens_out
        return replace(response, cost=paid)
