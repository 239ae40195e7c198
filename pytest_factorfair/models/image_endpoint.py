"""OpenAI-compatible image generation over aiohttp: OpenAI, LocalAI, vLLM-Omni, SD servers.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or anything at all with ``base_url=``. The arguments are
those of ``image_settings``. One call is one picture; one that comes as a URL is fetched at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import Cause, RetryableModelError
from pytest_factorfair.models import extras
from pytest_factorfair.models.chat_endpoint import Endpoint, locate
from pytest_factorfair.models.chat_errors import error_of, is_filtered, told
from pytest_factorfair.models.chat_replies import MalformedReplyError, parsed
from pytest_factorfair.models.http_calls import Calls
from pytest_factorfair.models.image_fetching import Fetcher
from pytest_factorfair.models.image_replies import response_of
from pytest_factorfair.models.image_settings import FORMAT, ImageSettings, settings
from pytest_factorfair.models.prices import Price, listed
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import Reply

# Their pictures always come in base64, and they refuse to be asked for it.
_ALWAYS_ENCODED = ("gpt-image", "chatgpt-image")


def build(spec: ModelSpec) -> Model:
    """The image model of an id, checked and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or cannot be right.
        MissingExtraError: Pillow is not installed.
    """
    asked = settings(spec)
    endpoint = locate(spec, base_url=asked.base_url, api_key_env=asked.api_key_env)
    extras.need(spec, "images", "PIL")
    if not endpoint.model.startswith(_ALWAYS_ENCODED):
        asked = replace(asked, parameters={FORMAT: "b64_json", **asked.parameters})
    return ImageEndpoint(spec.text, endpoint, asked)


class ImageEndpoint:
    """One image model of one service."""

    parallel: int | None = None

    def __init__(self, name: str, endpoint: Endpoint, settings: ImageSettings) -> None:
        self._name = name
        self._endpoint = endpoint
        self._settings = settings
        self._calls = Calls(name, endpoint, settings)
        self._fetcher = Fetcher(name, endpoint.base_url, settings)
        self.endpoint = f"openai/{endpoint.host}"
        self.url = endpoint.base_url
        self.identity: Mapping[str, object] = {
            "provider": "image_endpoint",
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            **settings.identity,
        }

    def __repr__(self) -> str:
        return f"ImageEndpoint({self._name!r}, {self._endpoint.base_url!r})"

    @cached_property
    def price(self) -> Price | None:
        """Somebody else's server of the same model costs what that server costs."""
        return listed(self._name, "image") if self._endpoint.is_openai else None

    async def ask(self, request: Request) -> Response:
        """Ask once; where that only names a parameter the model does not take, the next call lacks it."""
        reply, sent = await self._calls.post(
            lambda parameters: json.dumps(
                {"model": self._endpoint.model, **self._settings.body(parameters, request)}
            ).encode()
        )
        response = await self._response(reply, request)
        return replace(response, notes=(*response.notes, *self._settings.notes(sent)))

    async def close(self) -> None:
        await self._fetcher.close()
        await self._calls.close()

    async def _response(self, reply: Reply, request: Request) -> Response:
        model = self._endpoint.model
        try:
            value = parsed(reply.body) if reply.succeeded else {}
            if "data" in value or (reply.succeeded and "error" not in value):
                return await response_of(value, prompt=request.prompt, model=model, fetch=self._fetcher.fetch)
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._name}: {error}", cause=Cause("reply")) from None
        failed = told(reply)
        if is_filtered(failed):
            return Response("", "filtered", model=model)
        raise error_of(self._name, self._endpoint, failed)
