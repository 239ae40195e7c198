"""OpenAI-compatible chat completions over aiohttp: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or anything at all with ``base_url=``. The arguments are
those of ``chat_settings``; ``body.KEY=VALUE`` goes into the request body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic_core import to_json

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import Cause, RetryableModelError
from pytest_factorfair.models.chat_endpoint import Endpoint, locate
from pytest_factorfair.models.chat_errors import error_of, is_filtered, told
from pytest_factorfair.models.chat_replies import MalformedReplyError, parsed, response_of
from pytest_factorfair.models.chat_settings import Settings, settings
from pytest_factorfair.models.http_calls import Calls, Parameters
from pytest_factorfair.models.prices import Price, listed
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import Reply


def build(spec: ModelSpec) -> Model:
    """The model of an id, checked and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or cannot be right.
    """
    asked = settings(spec)
    endpoint = locate(spec, base_url=asked.base_url, api_key_env=asked.api_key_env)
    return ChatCompletions(spec.text, endpoint, asked)


class ChatCompletions:
    """One model of one service."""

    parallel: int | None = None

    def __init__(self, name: str, endpoint: Endpoint, settings: Settings) -> None:
        self._name = name
        self._endpoint = endpoint
        self._settings = settings
        self._calls = Calls(name, endpoint, settings)
        self.endpoint = f"openai/{endpoint.host}"
        self.url = endpoint.base_url
        self.identity: Mapping[str, object] = {
            "provider": "chat_completions",
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"ChatCompletions({self._name!r}, {self._endpoint.base_url!r})"

    @cached_property
    def price(self) -> Price | None:
        """Somebody else's server of the same model costs what that server costs."""
        return listed(self._name) if self._endpoint.is_openai else None

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""
        reply, sent = await self._calls.post(lambda parameters: self._body(parameters, request))
        response = self._response(reply)
        notes = self._settings.notes(sent)
        return replace(response, notes=notes) if notes else response

    async def close(self) -> None:
        await self._calls.close()

    def _body(self, parameters: Parameters, request: Request) -> bytes:
        seed, messages = self._settings.seed(request), self._settings.messages(request)
        return to_json({"model": self._endpoint.model, **parameters, **seed, "messages": messages})

    def _response(self, reply: Reply) -> Response:
        try:
            value = parsed(reply.body) if reply.succeeded else {}
            if "choices" in value or (reply.succeeded and "error" not in value):
                return response_of(value, model=self._endpoint.model)
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._name}: {error}", cause=Cause("reply")) from None
        failed = told(reply)
        if is_filtered(failed):
            return Response(text="", finish="filtered", model=self._endpoint.model)
        raise error_of(self._name, self._endpoint, failed)
