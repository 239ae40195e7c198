"""A fake of Ray for tests of pools without a cluster, with actors that answer by script."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.ray import cluster
from pytest_factorfair.ray.cluster import Cluster, ClusterTimeouts

TIMEOUTS = ClusterTimeouts(ping=0.001, silence=5.0, patience=60.0)


class RayError(Exception):
    """The fake of Ray's base exception."""


class DiedError(RayError):
    """The fake of Ray's error for an actor that has died."""


class TaskError(RayError):
    """The fake of Ray's error for an exception in an actor."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


Script = Callable[[int, Any], object]
"""A function from a replica's number and a request to the answer: an exception of Ray to raise, or None for no
answer at all."""


class Actor:
    """A replica that answers requests by a script, and pings unless it is silent."""

    def __init__(self, number: int, script: Script, *, problem: str = "", silent: bool = False) -> None:
        self.busy = self.peak = 0
        self.problem = problem
        self.silent = silent
        self.ask = SimpleNamespace(remote=self._ask)
        self.ready = SimpleNamespace(remote=self._ready)
        self._number = number
        self._script = script

    async def _ask(self, request: object) -> object:
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        try:
            await asyncio.sleep(0.001)
            outcome = self._script(self._number, request)
            if outcome is None:
                await asyncio.Event().wait()
            if isinstance(outcome, RayError):
                raise outcome
            return outcome
        finally:
            self.busy -= 1

    async def _ready(self) -> tuple[str, str]:
        if self.silent:
            await asyncio.Event().wait()
        return f"node-{self._number}", self.problem


class Ray:
    """The parts of the module ``ray`` that are used. Its actors have this ``problem``, or are ``silent``."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=TaskError, RaySystemError=TaskError)
    cloudpickle = pickle

    def __init__(self, script: Script, *, problem: str = "", silent: bool = False) -> None:
        self.problem, self.silent = problem, silent
        self.actors: list[Actor] = []
        self.options: dict[str, object] = {}
        self.restarted: list[Actor] = []
        self._script = script

    def remote(self, _kind: type) -> Any:
        def options(**arguments: object) -> Any:
            self.options = arguments
            return SimpleNamespace(remote=self._actor)

        return SimpleNamespace(options=options)

    def _actor(self, _order: bytes) -> Actor:
        actor = Actor(len(self.actors), self._script, problem=self.problem, silent=self.silent)
        self.actors.append(actor)
        return actor

    def kill(self, actor: Actor, *, no_restart: bool = True) -> None:
        if not no_restart:
            self.restarted.append(actor)


def connected(
    ray: Ray,
    monkeypatch: pytest.MonkeyPatch,
    *gpus: float,
    timeouts: ClusterTimeouts = TIMEOUTS,
    address: str = "head:1",
) -> Cluster:
    """A cluster of nodes with these numbers of GPUs, connected to the fake."""
    monkeypatch.setattr(cluster, "find_spec", lambda _: object())
    monkeypatch.setattr(cluster, "TIMEOUTS", timeouts)
    monkeypatch.setattr(Cluster, "connect", lambda _: ray)
    joined = Cluster(address)
    joined.gpus = gpus
    return joined
