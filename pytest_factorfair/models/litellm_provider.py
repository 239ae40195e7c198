"""Every provider that litellm knows: any ``provider/model``, or ``litellm:ID`` to force it for any id.

The arguments are those of ``chat_settings``; ``body.KEY=VALUE`` becomes a further keyword of litellm's
(``body.reasoning_effort=low``, ``body.vertex_project=...``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.models.chat_replies import response_of
from pytest_factorfair.models.chat_settings import Settings, settings
from pytest_factorfair.models.litellm_calls import TAKEN, FilteredError, LitellmCalls, Route, route
from pytest_factorfair.models.prices import Price, listed
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec


def build(spec: ModelSpec) -> Model:
    """The model of an id; litellm itself is imported by the first call, which takes seconds.

    Raises:
        InputError: the provider is unknown, its key is missing, or an argument cannot be right.
        MissingExtraError: litellm is not installed.
    """
    asked = settings(spec, taken=TAKEN)
    return LitellmModel(route(spec, base_url=asked.base_url, api_key_env=asked.api_key_env), asked)


class LitellmModel:
    """One model by way of litellm."""

    parallel: int | None = None

    def __init__(self, route: Route, settings: Settings) -> None:
        self._route = route
        self._settings = settings
        self._calls = LitellmCalls(route, settings, "chat")
        self.endpoint = route.endpoint
        self.url = route.base_url
        self.identity: Mapping[str, object] = {
            "provider": "litellm",
            "base_url": route.base_url,
            "model": route.model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"LitellmModel({self._route.name!r})"

    @cached_property
    def price(self) -> Price | None:
        return listed(self._route.model)

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""
        asked = {"messages": self._settings.messages(request), **self._settings.seed(request)}
        try:
            response, sent = await self._calls.call("acompletion", asked, self._response)
        except FilteredError:
            return Response(text="", finish="filtered", model=self._route.model)
        return replace(response, notes=self._settings.notes(sent))

    async def close(self) -> None:
        await self._calls.close()

    async def _response(self, completion: Any) -> Response:
        return response_of(_plain(completion), model=self._route.model)


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
