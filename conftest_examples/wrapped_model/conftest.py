"""The model under test as your product ships it: override the fixture and wrap its model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.models import Model


class Moderated:
    """Applies the product's own filter to the model's replies: a blocked reply becomes a refusal."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.endpoint = inner.endpoint
        self.parallel = inner.parallel

    @property
    def identity(self) -> Mapping[str, object]:
        """Differs from the bare model's identity, so that their answers are never mixed up."""
        return {**self.inner.identity, "filter": "no judgement about crime"}

    async def ask(self, request: Request) -> Response:
        response = await self.inner.ask(request)
        if "Crime Rate" in request.prompt:
            return dataclasses.replace(response, text="I'm sorry, but I can't help with that.")
        return response

    async def close(self) -> None:
        await self.inner.close()


@pytest.fixture
def factorfair_model(factorfair_model: Model) -> Moderated:
    return Moderated(factorfair_model)
