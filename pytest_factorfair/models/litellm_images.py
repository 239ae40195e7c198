"""Image models of every provider that litellm knows: ``provider/model``, or ``litellm:ID`` for any id.

The arguments are those of ``image_settings``; ``body.KEY=VALUE`` becomes a further keyword of litellm's.
A picture that comes as a URL is fetched at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.models import extras
from pytest_factorfair.models.image_fetching import Fetcher
from pytest_factorfair.models.image_replies import response_of
from pytest_factorfair.models.image_settings import ImageSettings, settings
from pytest_factorfair.models.litellm_calls import TAKEN, FilteredError, LitellmCalls, Route, route
from pytest_factorfair.models.prices import Price, listed
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec


def build(spec: ModelSpec) -> Model:
    """The image model of an id; litellm itself is imported by the first call, which takes seconds.

    Raises:
        InputError: the provider is unknown, its key is missing, or an argument cannot be right.
        MissingExtraError: litellm or Pillow is not installed.
    """
    asked = settings(spec, taken=TAKEN)
    path = route(spec, base_url=asked.base_url, api_key_env=asked.api_key_env)
    extras.need(spec, "images", "PIL")
    return LitellmImages(path, asked)


class LitellmImages:
    """One image model by way of litellm."""

    parallel: int | None = None

    def __init__(self, route: Route, settings: ImageSettings) -> None:
        self._route = route
        self._settings = settings
        self._calls = LitellmCalls(route, settings, "image_generation")
        self._fetcher = Fetcher(route.name, route.base_url or "", settings)
        self.endpoint = route.endpoint
        self.url = route.base_url
        self.identity: Mapping[str, object] = {
            "provider": "litellm_images",
            "base_url": route.base_url,
            "model": route.model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"LitellmImages({self._route.name!r})"

    @cached_property
    def price(self) -> Price | None:
        return listed(self._route.model, "image")

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""

        async def read(reply: Any) -> Response:
            return await response_of(
                _plain(reply), prompt=request.prompt, model=self._route.model, fetch=self._fetcher.fetch
            )

        try:
            response, sent = await self._calls.call(
                "aimage_generation", self._settings.body({}, request), read
            )
        except FilteredError:
            return Response("", "filtered", model=self._route.model)
        return replace(response, notes=(*response.notes, *self._settings.notes(sent)))

    async def close(self) -> None:
        await self._fetcher.close()
        await self._calls.close()


def _plain(reply: Any) -> Mapping[str, object]:
    """The parts of litellm's answer that matter, as they would stand in the JSON of an images reply."""
    usage = getattr(reply, "usage", None)
    names = ("b64_json", "url", "revised_prompt")
    return {
        "data": [{name: getattr(one, name, None) for name in names} for one in reply.data or []],
        "usage": {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")},
    }
