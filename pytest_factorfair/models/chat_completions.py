"""OpenAI-compatible chat completions over aiohttp: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or anything at all with ``base_url=``. Arguments:
temperature (0), max_tokens (1024), top_p, seed=true (sends each request's own seed), system, base_url,
api_key_env, timeout (120 s), and ``body.KEY=VALUE``, which goes into the request body as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, RetryableModelError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.chat_endpoint import Endpoint, locate
from pytest_factorfair.models.chat_errors import Complaint, complaint, error_of, status_inside
from pytest_factorfair.models.chat_replies import MalformedReplyError, parsed, response_of
from pytest_factorfair.models.prices import price
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import HttpClient, Reply

# These go into the request body, the others shape the call.
PARAMETERS = {
    "temperature": arguments.TEMPERATURE,
    "max_tokens": arguments.COUNT,
    "top_p": arguments.SHARE,
}
KINDS = {
    **PARAMETERS,
    "seed": arguments.FLAG,
    "system": arguments.TEXT,
    "base_url": arguments.TEXT,
    "api_key_env": arguments.TEXT,
    "timeout": arguments.SECONDS,
}
DEFAULTS = {"temperature": 0, "max_tokens": 1024, "seed": False, "timeout": 120}
BODY = "body."
RESERVED = frozenset({"messages", "model", "stream", "n", "seed", *PARAMETERS})
AS_IT_LIKES = "the model's default was used"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is asked: ``parameters`` are the request body without the messages."""

    parameters: Mapping[str, object]
    system: str | None
    seeded: bool
    timeout: float


def build(spec: ModelSpec) -> Model:
    """The model of an id, checked and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or cannot be right.
    """
    values = DEFAULTS | arguments.read(spec, KINDS, passed_on=(BODY,))
    extra = arguments.under(values, BODY)
    for key in sorted(RESERVED & extra.keys()):
        right = f"write {key}=... without '{BODY}'" if key in KINDS else "the run sets it"
        raise InputError(f"model '{spec.text}': argument '{BODY}{key}' cannot be given: {right}")
    endpoint = locate(
        spec, base_url=arguments.text(values, "base_url"), api_key_env=arguments.text(values, "api_key_env")
    )
    parameters = {key: values[key] for key in PARAMETERS if key in values}
    settings = Settings(
        parameters={"model": endpoint.model, **parameters, **extra},
        system=arguments.text(values, "system"),
        seeded=values["seed"] is True,
        timeout=arguments.number(values, "timeout"),
    )
    return ChatCompletions(spec.text, endpoint, settings)


class ChatCompletions:
    """One model of one service; a parameter that the model turns out not to take is left out from then on."""

    parallel: int | None = None

    def __init__(self, name: str, endpoint: Endpoint, settings: Settings) -> None:
        self._name = name
        self._endpoint = endpoint
        self._settings = settings
        self._parameters = settings.parameters
        self._instructions = [{"role": "system", "content": settings.system}] if settings.system else []
        self._client: HttpClient | None = None
        self._price: tuple[float, float] | None = None
        self._departure = f"temperature {settings.parameters['temperature']} was not accepted: {AS_IT_LIKES}"
        self.endpoint = f"openai/{endpoint.host}"
        self.identity: Mapping[str, object] = {
            "provider": "chat_completions",
            "base_url": endpoint.base_url,
            "body": dict(settings.parameters),
            "system": settings.system,
            "seeded": settings.seeded,
        }

    def __repr__(self) -> str:
        return f"ChatCompletions({self._name!r}, {self._endpoint.base_url!r})"

    async def ask(self, request: Request) -> Response:
        """Ask once; a call that only names a parameter the model does not take is repeated without it."""
        client = self._connected()
        sent = self._parameters
        reply = await client.post(self._body(sent, request))
        while reply.status == HTTPStatus.BAD_REQUEST and self._adapts(sent, reply):
            sent = self._parameters
            reply = await client.post(self._body(sent, request))
        response = self._response(reply)
        return response if "temperature" in sent else replace(response, notes=(self._departure,))

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

    def _body(self, parameters: Mapping[str, object], request: Request) -> bytes:
        messages = [*self._instructions, {"role": "user", "content": request.prompt}]
        seed = {"seed": request.seed} if self._settings.seeded else {}
        return json.dumps({**parameters, **seed, "messages": messages}).encode()

    def _adapts(self, sent: Mapping[str, object], reply: Reply) -> bool:
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


def without_refused(sent: Mapping[str, object], complaint: Complaint) -> dict[str, object] | None:
    """The parameters without the one the model does not take; None if the complaint is about none of them."""
    kept = dict(sent)
    if "temperature" in sent and complaint.refuses("temperature"):
        del kept["temperature"]
    elif "max_tokens" in sent and complaint.refuses("max_tokens"):
        kept.setdefault("max_completion_tokens", kept.pop("max_tokens"))
    else:
        return None
    return kept
