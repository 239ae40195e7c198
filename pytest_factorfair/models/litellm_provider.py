"""Every provider that litellm knows: any ``provider/model``, or ``litellm:ID`` to force it for any id.

The arguments are those of ``chat_settings``; ``body.KEY=VALUE`` becomes a further keyword of litellm's
(``body.reasoning_effort=low``, ``body.vertex_project=...``).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, MissingExtraError, RetryableModelError, nearest
from pytest_factorfair.models import litellm_errors, prices, provider_keys
from pytest_factorfair.models.chat_endpoint import checked_url, key_in
from pytest_factorfair.models.chat_replies import MalformedReplyError, response_of
from pytest_factorfair.models.chat_settings import Settings, settings
from pytest_factorfair.models.http_calls import Parameters
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.redaction import fit
from pytest_factorfair.models.spec import ModelSpec

TAKEN = frozenset(
    {"api_base", "num_retries", "max_retries", "drop_params", "fallbacks", "mock_response", "client"}
)


def build(spec: ModelSpec) -> Model:
    """The model of an id; litellm itself is imported by the first call, which takes seconds.

    Raises:
        InputError: the provider is unknown, its key is missing, or an argument cannot be right.
        MissingExtraError: litellm is not installed.
    """
    asked = settings(spec, taken=TAKEN)
    if not prices.installed():
        raise MissingExtraError(f"model '{spec.text}'", "litellm")
    model = spec.text.removeprefix("litellm:")
    provider = _provider(spec, model)
    url = checked_url(spec, asked.base_url) if asked.base_url else None
    key = key_in(spec, asked.api_key_env, needed=True) if asked.api_key_env else None
    missing = provider_keys.missing(provider)
    if missing and not (key or url):
        raise InputError(f"model '{spec.text}': no key: set the environment variable {' or '.join(missing)}")
    if missing and not key:
        key = "unused"  # a server of one's own needs no key, but litellm insists on one
    return LitellmModel(spec.text, model, provider=provider, settings=replace(asked, base_url=url), key=key)


class LitellmModel:
    """One model by way of litellm."""

    parallel: int | None = None

    def __init__(self, name: str, model: str, *, provider: str, settings: Settings, key: str | None) -> None:
        self._name = name
        self._model = model
        self._provider = provider
        self._settings = settings
        self._parameters = settings.parameters
        self._key = key
        self._library: Any = None
        self._loading = asyncio.Lock()
        url = settings.base_url or _url_of(provider)
        self.endpoint = f"litellm/{provider}/{urlsplit(url or '').netloc}".rstrip("/")
        self.identity: Mapping[str, object] = {
            "provider": "litellm",
            "base_url": url,
            "model": model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"LitellmModel({self._name!r})"

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""
        library = self._library or await self._loaded()
        sent = self._parameters
        try:
            return self._response(await self._call(library, sent, request), sent)
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._name}: {error}") from None
        except Exception as error:  # litellm lets through whatever its providers' code raises
            if litellm_errors.is_filtered(error):
                return Response(text="", finish="filtered", model=self._model)
            if self._adapts(sent, error):
                raise RetryableModelError(f"{self._name}: a parameter was refused", at_once=True) from None
            raise litellm_errors.error_of(self._name, error, keys=self._keys()) from error

    async def close(self) -> None:
        """Close what litellm keeps for this loop; it has one set of clients for all models."""
        if self._library is not None:
            await self._library.close_litellm_async_clients()
            self._library.in_memory_llm_clients_cache.flush_cache()

    async def _loaded(self) -> Any:
        async with self._loading:
            if self._library is None:
                self._library = await asyncio.to_thread(_library, self._model, self._provider)
        return self._library

    async def _call(self, library: Any, parameters: Parameters, request: Request) -> Any:
        return await library.acompletion(
            model=self._model,
            messages=self._settings.messages(request),
            api_base=self._settings.base_url,
            api_key=self._key,
            timeout=self._settings.timeout,
            num_retries=0,
            max_retries=0,
            **self._settings.seed(request),
            **parameters,
        )

    def _adapts(self, sent: Parameters, error: Exception) -> bool:
        """Whether the call may succeed without what the model has just refused, and is now left out."""
        kept = self._settings.without_refused(sent, litellm_errors.complaint(error))
        if kept is not None and self._parameters is sent:
            self._parameters = kept
        return kept is not None

    def _response(self, completion: Any, sent: Parameters) -> Response:
        response = response_of(_plain(completion), model=self._model)
        cost = None
        if response.tokens_in is not None and response.tokens_out is not None:
            cost = prices.cost(self._model, response.tokens_in, response.tokens_out)
        return replace(response, cost=cost, notes=self._settings.notes(sent))

    def _keys(self) -> Mapping[str, str]:
        """The keys that were used, so that they are named and never shown."""
        named = self._settings.api_key_env
        return {named: self._key or ""} if named else provider_keys.present(self._provider)


def _plain(completion: Any) -> Mapping[str, object]:
    """The parts of litellm's answer that matter, as they would stand in the JSON of a chat completion."""
    choice = completion.choices[0] if completion.choices else None
    if choice is None:
        return {}
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    usage = getattr(completion, "usage", None)
    return {
        "model": completion.model,
        "choices": [
            {
                "message": {"content": choice.message.content, "refusal": fields.get("refusal")},
                "finish_reason": choice.finish_reason,
            }
        ],
        "usage": {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")},
    }


def _library(model: str, provider: str) -> Any:
    """litellm, imported without its fetching prices, reading ``.env`` files or printing advice."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    library: Any = import_module("litellm")
    library.telemetry = False
    library.suppress_debug_info = True
    bare = model.partition("/")[2] or model
    if not {model, bare} & library.model_cost.keys():
        # An unknown model is looked for at length in every call; its cost stays unknown to us.
        library.register_model({model: {"litellm_provider": provider, "mode": "chat"}})
    return library


def _provider(spec: ModelSpec, model: str) -> str:
    named, slash, rest = model.partition("/")
    known = prices.providers()
    if not slash:
        found = prices.provider(model)
        if not found:
            raise InputError(f"model '{spec.text}': no provider is named; write litellm:provider/{model}")
        return found
    if not rest:
        raise InputError(f"model '{spec.text}': no model is named after '{named}/'")
    if named not in known:
        raise InputError(f"model '{spec.text}': unknown provider '{named}'{_near(named, known)}")
    return named


def _near(named: str, known: frozenset[str]) -> str:
    said = nearest(named, known)
    return said if said.startswith("; did") else ""


def _url_of(provider: str) -> str | None:
    """Where the environment sends a provider's calls, which can change the answers."""
    names = (f"{provider.upper()}_API_BASE", f"{provider.upper()}_BASE_URL")
    return next((fit(os.environ[name]) for name in names if os.environ.get(name)), None)
