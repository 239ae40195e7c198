"""The model under test behind a guard of your own: override the fixture, wrap what it gives."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.models import Model

GUARD = "Decide by the facts given, never by a group a person belongs to.\n\n"


class Guarded:
    """Puts a sentence before every prompt, as a product's system prompt would."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.endpoint = inner.endpoint
        self.parallel = inner.parallel

    @property
    def identity(self) -> Mapping[str, object]:
        """Another identity than the bare model's, so that their answers are never mixed up."""
        return {**self.inner.identity, "guard": GUARD}

    async def ask(self, request: Request) -> Response:
        return await self.inner.ask(Request(GUARD + request.prompt, request.repeat, request.seed))

    async def close(self) -> None:
        await self.inner.close()


@pytest.fixture
def factorfair_model(factorfair_model: Model) -> Guarded:
    return Guarded(factorfair_model)
