"""How many calls may be under way at once."""

from __future__ import annotations

import asyncio

from pytest_factorfair.models.protocol import Model


class Limits:
    """A fixed number of places: so many for each endpoint, and fewer where a model can use fewer.

    Lives in the loop: a place is waited for in the order of asking.
    """

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._endpoints: dict[str, asyncio.Semaphore] = {}
        self._models: dict[int, asyncio.Semaphore] = {}

    def places(self, model: Model) -> tuple[asyncio.Semaphore, asyncio.Semaphore]:
        """What a call must hold, in this order: a place of the model's own, then one of its endpoint's."""
        return self._own(model), self._shared(model.endpoint)

    def _own(self, model: Model) -> asyncio.Semaphore:
        if id(model) not in self._models:
            most = model.parallel or self._connections
            self._models[id(model)] = asyncio.Semaphore(min(most, self._connections))
        return self._models[id(model)]

    def _shared(self, endpoint: str) -> asyncio.Semaphore:
        if endpoint not in self._endpoints:
            self._endpoints[endpoint] = asyncio.Semaphore(self._connections)
        return self._endpoints[endpoint]
