"""Calls by way of litellm, learning on the way which parameters the model does not take."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from pytest_factorfair.errors import (
    Cause,
    InputError,
    MissingExtraError,
    ModelError,
    RetryableModelError,
    nearest,
)
from pytest_factorfair.models import litellm_errors, prices, provider_keys
from pytest_factorfair.models.chat_endpoint import checked_url, key_in
from pytest_factorfair.models.chat_replies import MalformedReplyError
from pytest_factorfair.models.http_calls import Parameters, Terms
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import shown_url

TAKEN = frozenset(
    {"api_base", "num_retries", "max_retries", "drop_params", "fallbacks", "mock_response", "client"}
)

Mode = Literal["chat", "image_generation"]
R = TypeVar("R")


class FilteredError(Exception):
    """A content filter turned the prompt down."""


@dataclass(frozen=True, slots=True)
class Route:
    """Which provider's model is asked, where, and with which key."""

    name: str
    model: str
    provider: str
    url: str | None
    key_env: str | None
    key: str | None = field(repr=False)

    @property
    def base_url(self) -> str | None:
        """Where its calls go, as far as that is set; it can change the answers."""
        return self.url or _url_of(self.provider)

    @property
    def endpoint(self) -> str:
        return f"litellm/{self.provider}/{urlsplit(self.base_url or '').netloc}".rstrip("/")

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys that are used, so that they are named and never shown."""
        return {self.key_env: self.key or ""} if self.key_env else provider_keys.present(self.provider)


def route(spec: ModelSpec, *, base_url: str | None, api_key_env: str | None) -> Route:
    """The route to the model of an id, as litellm would take it.

    Raises:
        InputError: the provider is unknown, its key is missing, or the base URL cannot be right.
        MissingExtraError: litellm is not installed.
    """
    if not prices.installed():
        raise MissingExtraError(f"model '{spec.text}'", "litellm")
    model = spec.text.removeprefix("litellm:")
    provider = _provider(spec, model)
    url = checked_url(spec, base_url) if base_url else None
    key = key_in(spec, api_key_env, needed=True) if api_key_env else None
    missing = provider_keys.missing(provider) if spec.asked else ()
    if missing and not (key or url):
        raise InputError(f"model '{spec.text}': no key: set the environment variable {' or '.join(missing)}")
    if missing and not key:
        key = "unused"  # a server of one's own needs no key, but litellm insists on one
    return Route(spec.text, model, provider, url, api_key_env, key)


class LitellmCalls:
    """The calls to one model; a parameter it turns out not to take is left out from then on."""

    def __init__(self, route: Route, terms: Terms, mode: Mode) -> None:
        self._route = route
        self._terms = terms
        self._mode: Mode = mode
        self._parameters = terms.parameters
        self._library: Any = None
        self._loading = asyncio.Lock()

    async def call(
        self, function: str, asked: Mapping[str, object], read: Callable[[Any], Awaitable[R]]
    ) -> tuple[R, Parameters]:
        """Call once; returns what is read off the reply, and the parameters that were sent.

        Raises:
            ModelError: as any provider; where a parameter was refused, the next call lacks it.
            FilteredError: a content filter turned the prompt down.
        """
        library = self._library or await self._loaded()
        sent = self._parameters
        try:
            return await read(await getattr(library, function)(**self._common, **sent, **asked)), sent
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._route.name}: {error}", cause=Cause("reply")) from None
        except ModelError:
            raise
        except Exception as error:  # litellm lets through whatever its providers' code raises
            if litellm_errors.is_filtered(error):
                raise FilteredError from error
            if self._adapts(sent, error):
                told = f"{self._route.name}: a parameter was refused"
                raise RetryableModelError(told, at_once=True) from None
            raise litellm_errors.error_of(self._route.name, error, keys=self._route.keys) from error

    async def close(self) -> None:
        """Close what litellm keeps for this loop; it has one set of clients for all models."""
        if self._library is not None:
            await self._library.close_litellm_async_clients()
            self._library.in_memory_llm_clients_cache.flush_cache()

    @property
    def _common(self) -> Mapping[str, object]:
        return {
            "model": self._route.model,
            "api_base": self._route.url,
            "api_key": self._route.key,
            "timeout": self._terms.timeout,
            "num_retries": 0,
            "max_retries": 0,
        }

    async def _loaded(self) -> Any:
        async with self._loading:
            if self._library is None:
                self._library = await asyncio.to_thread(_library, self._route, self._mode)
        return self._library

    def _adapts(self, sent: Parameters, error: Exception) -> bool:
        """Whether the call may succeed without what the model has just refused, and is now left out."""
        kept = self._terms.without_refused(sent, litellm_errors.complaint(error))
        if kept is not None and self._parameters is sent:
            self._parameters = kept
        return kept is not None


def _library(route: Route, mode: Mode) -> Any:
    """litellm, imported without its fetching prices, reading ``.env`` files or printing advice."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    library: Any = import_module("litellm")
    library.telemetry = False
    library.suppress_debug_info = True
    bare = route.model.partition("/")[2] or route.model
    if not {route.model, bare} & library.model_cost.keys():
        # An unknown model is looked for at length in every call; its cost stays unknown to us.
        library.register_model({route.model: {"litellm_provider": route.provider, "mode": mode}})
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
    return next((shown_url(os.environ[name]) for name in names if os.environ.get(name)), None)
