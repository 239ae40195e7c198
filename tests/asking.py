"""Ask a model without an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import RetryableModelError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec, parse


def spec(text: str, arguments: Mapping[str, str] | None = None) -> ModelSpec:
    """The spec of a model as typed."""
    return parse(text, arguments or {})


def ask(model: Model, *prompts: str) -> list[Response]:
    """Ask prompts concurrently in a new event loop, and close the model in that loop."""
    return ask_all(model, [Request(prompt) for prompt in prompts or ("Who?\nA. Asian\nB. Black",)])


def ask_all(model: Model, requests: list[Request]) -> list[Response]:
    """Ask requests concurrently in a new event loop, and close the model in that loop."""

    async def run() -> list[Response]:
        try:
            return await asyncio.gather(*(answered(model, request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(run())


async def answered(model: Model, request: Request) -> Response:
    """The response to a request, which is repeated without the parameters that the model rejects."""
    while True:
        try:
            return await model.ask(request)
        except RetryableModelError as error:
            if not error.at_once:
                raise
