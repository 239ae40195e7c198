"""Models in replicas: which replica is asked, and what happens if it is lost; with a fake of Ray."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import registry
from pytest_factorfair.models.cluster import Cluster, ClusterTimeouts, Replicas
from pytest_factorfair.models.pool import ReplicaSpec
from pytest_factorfair.models.replicas import ModelReplica, PictureKeeper, ReplicatedModel
from pytest_factorfair.store.durable.bucket import shared
from pytest_factorfair.store.pictures import Folder, file_of
from tests.keeping import PNG
from tests.scripted_ray import TIMEOUTS, DiedError, Ray, TaskError, connected

PARALLEL = 3
IDENTITY = {"provider": "test"}


class Local:
    """The model in the controlling process."""

    endpoint = "test"
    parallel = PARALLEL
    identity = IDENTITY

    async def ask(self, _: Request) -> Response:
        raise AssertionError("asked in the controlling process")

    async def close(self) -> None:
        """Nothing is open."""


def replicated(
    ray: Ray, monkeypatch: pytest.MonkeyPatch, *, count: int = 2, timeouts: ClusterTimeouts = TIMEOUTS
) -> ReplicatedModel:
    cluster = connected(ray, monkeypatch, *[1.0] * count, timeouts=timeouts)
    return ReplicatedModel(Local(), ordered("test:model"), cluster, Replicas(count))


def ordered(spec: str, identity: Mapping[str, object] = IDENTITY, **overrides: Any) -> ReplicaSpec:
    factory = partial(registry.build, spec, {}, checklists=(), custom={})
    return ReplicaSpec(spec, factory, identity, folder="/", **overrides)


async def answered(
    model: ReplicatedModel, request: Request, *, calls: Counter[str] | None = None
) -> Response:
    """Ask as the engine does: repeat at once if the error says so."""
    while True:
        if calls is not None:
            calls[request.prompt] += 1
        try:
            return await model.ask(request)
        except RetryableModelError as error:
            if not error.at_once:
                raise


def requests(number: int) -> list[Request]:
    return [Request(f"prompt {index}") for index in range(number)]


def say(_number: int, request: Request) -> object:
    return Response(request.prompt)


def asked(model: ReplicatedModel, batch: list[Request], calls: Counter[str] | None = None) -> list[Any]:
    async def ask() -> list[Any]:
        outcomes = await asyncio.gather(
            *(answered(model, request, calls=calls) for request in batch), return_exceptions=True
        )
        await model.close()
        return outcomes

    return asyncio.run(asyncio.wait_for(ask(), 60))


def test_the_least_busy_replica_is_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least busy replica is next, up to the maximum that a model takes at a time."""
    ray = Ray(say)
    model = replicated(ray, monkeypatch)
    assert model.parallel == 2 * PARALLEL
    outcomes = asked(model, requests(40))
    assert [outcome.text for outcome in outcomes] == [request.prompt for request in requests(40)]
    assert [actor.peak for actor in ray.actors] == [PARALLEL, PARALLEL]
    assert ray.options == {
        "num_gpus": 1.0, "num_cpus": 0, "max_restarts": -1, "max_task_retries": 0,
        "max_concurrency": 2 * PARALLEL + 1, "scheduling_strategy": "SPREAD",
    }  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_request_that_kills(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that kills replicas is given up after six attempts; others that it affects are answered."""

    def answer(_number: int, request: Request) -> object:
        return DiedError("gone") if request.prompt == "prompt 7" else Response(request.prompt)

    ray, calls = Ray(answer), Counter[str]()
    outcomes = asked(replicated(ray, monkeypatch, count=count), requests(40), calls)
    error = outcomes.pop(7)
    assert isinstance(error, RejectedRequestError)
    assert str(error).startswith("given up after 6 attempts: each lost its replica, the last on node-")
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert calls["prompt 7"] == 6
    # After two deaths it is asked alone, so it takes others along twice at most.
    assert calls.total() <= 39 + 6 + 2 * (PARALLEL - 1)


def test_requests_that_kill_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that kill are blamed after two deaths, so that the only replica is not given up."""

    def answer(_number: int, request: Request) -> object:
        return DiedError("gone") if request.prompt in ("prompt 3", "prompt 4") else Response(request.prompt)

    outcomes = asked(replicated(Ray(answer), monkeypatch, count=1), requests(30))
    assert [index for index, outcome in enumerate(outcomes) if not isinstance(outcome, Response)] == [3, 4]


def test_every_replica_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(lambda _number, _request: DiedError("gone"))
    outcomes = asked(replicated(ray, monkeypatch), requests(40))
    fatal = [outcome for outcome in outcomes if isinstance(outcome, FatalModelError)]
    assert fatal
    assert str(fatal[0]).startswith("test:model: every replica was lost 5 times in a row, the last on node-")
    assert str(fatal[0]).endswith(": DiedError")


@pytest.mark.parametrize("for_good", [True, False])
def test_a_silent_replica(monkeypatch: pytest.MonkeyPatch, *, for_good: bool) -> None:
    """Requests of a silent replica are sent elsewhere; the replica is used again once it answers."""
    asked_of = Counter[int]()

    def answer(number: int, request: Request) -> object:
        asked_of[number] += 1
        if number == 0 and not ray.actors[0].silent and asked_of[0] <= PARALLEL:
            if asked_of[0] == PARALLEL:
                ray.actors[0].silent = True
            return None
        if asked_of[1] == 30:
            ray.actors[0].silent = for_good
        return Response(request.prompt)

    ray = Ray(answer)
    timeouts = replace(TIMEOUTS, silence=0.02)
    outcomes = asked(replicated(ray, monkeypatch, timeouts=timeouts), requests(400))
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert (asked_of[0] == PARALLEL) == for_good
    assert asked_of.total() == 400 + PARALLEL


def test_no_replica_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts = ClusterTimeouts(ping=0.001, silence=0.001, patience=0.01)
    model = replicated(Ray(say, silent=True), monkeypatch, timeouts=timeouts)
    (error,) = asked(model, requests(1))
    assert isinstance(error, FatalModelError)
    assert str(error) == (
        "test:model: no replica for 0.01 s: each needs 1 GPUs, and the cluster had 2; answers so far are kept"
    )


def test_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(say, problem="has another identity: weights is b2, here a1")
    model = replicated(ray, monkeypatch)
    outcomes = asked(model, requests(40))
    fatal = {str(outcome) for outcome in outcomes if isinstance(outcome, FatalModelError)}
    assert fatal == {"test:model: the replica on node-0 has another identity: weights is b2, here a1"}


def test_a_lost_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica with a fatal error is restarted if others have answered; otherwise the error is fatal."""
    failing = {1}

    def answer(number: int, request: Request) -> object:
        if number in failing and not ray.restarted:
            return FatalModelError("test:model: AcceleratorError: the GPU is lost")
        return Response(request.prompt)

    ray = Ray(answer)
    model = replicated(ray, monkeypatch)

    async def in_turn() -> list[Any]:
        outcome = await answered(model, Request("first"))
        return [outcome, *await asyncio.gather(*(answered(model, request) for request in requests(20)))]

    assert len(asyncio.run(in_turn())) == 21
    assert ray.restarted == [ray.actors[1]]
    failing |= {2, 3}
    ray.restarted.clear()
    model = replicated(ray, monkeypatch)
    outcomes = asked(model, requests(6))
    assert all(isinstance(outcome, FatalModelError) for outcome in outcomes)
    assert ray.restarted == []


def test_the_head_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(lambda _number, _request: None)
    watchers: list[Callable[[], object]] = []
    monkeypatch.setattr(Cluster, "watch", lambda _, watcher: watchers.append(watcher))
    model = replicated(ray, monkeypatch)

    async def ask() -> list[Any]:
        asking = [asyncio.ensure_future(answered(model, request)) for request in requests(10)]
        while not (ray.actors and all(actor.busy for actor in ray.actors)):  # noqa: ASYNC110  # scripted
            await asyncio.sleep(0)
        watchers[0]()
        return await asyncio.gather(*asking, return_exceptions=True)

    (line,) = {str(outcome) for outcome in asyncio.run(ask()) if isinstance(outcome, FatalModelError)}
    assert (
        line == "--factorfair-executor=ray:head:1: the head of the cluster is gone; answers so far are kept"
    )


def test_an_exception_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that cannot be serialised is an error of its request only."""
    ray = Ray(lambda _number, _request: TaskError(TypeError("cannot pickle 'generator' object")))
    (error,) = asked(replicated(ray, monkeypatch), requests(1))
    assert isinstance(error, RejectedRequestError)
    assert str(error) == "TypeError: cannot pickle 'generator' object"


class Raising:
    """A model that raises the exception that the prompt names."""

    endpoint, parallel, identity = "test", None, IDENTITY

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def ask(self, _: Request) -> Response:
        raise self._error

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    "error",
    [
        RetryableModelError("busy", 3.0, throttled=True),
        RejectedRequestError("no", cause=Cause("status", "400")),
        FatalModelError("broken", billable=False),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_as_values(error: ModelError) -> None:
    replica = ModelReplica(pickle.dumps(ReplicaSpec("test:model", partial(Raising, error), IDENTITY)))
    returned = pickle.loads(pickle.dumps(asyncio.run(replica.ask(Request("?")))))  # noqa: S301  # as Ray does
    assert type(returned) is type(error)
    assert (str(returned), vars(returned)) == (str(error), vars(error))


class Drawing(Raising):
    """A model that returns one picture."""

    def __init__(self, image: bytes) -> None:
        self._image = image

    async def ask(self, _: Request) -> Response:
        return Response("", image=self._image)


def drawn(image: bytes, address: str, mark: str) -> Response:
    build = partial(PictureKeeper, partial(Drawing, image), address, mark)
    replica = ModelReplica(pickle.dumps(ReplicaSpec("test:model", build, IDENTITY)))
    response = asyncio.run(replica.ask(Request("?")))
    assert isinstance(response, Response), response
    return response


@pytest.mark.parametrize("at", ["bucket", "folder"])
def test_a_replica_keeps_its_pictures(tmp_path: Path, at: str, request: pytest.FixtureRequest) -> None:
    address = str(tmp_path if at == "folder" else request.getfixturevalue("bucket"))
    mark = shared(address).check()
    response = drawn(PNG, address, mark)
    assert response == Response("", image_file=file_of(PNG))
    assert shared(address).read(response.image_file) == PNG
    assert drawn(b"words", address, mark) == Response("", image=b"words")  # an error, where it is counted


def test_a_picture_that_a_replica_cannot_store_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    mark = shared(str(tmp_path)).check()
    monkeypatch.setattr(Folder, "keep", full)
    assert drawn(PNG, str(tmp_path), mark) == Response("", image=PNG)


def test_a_replica_whose_folder_is_its_own_is_unfit(tmp_path: Path) -> None:
    """A replica with another folder than the controller is rejected: its pictures would be lost."""
    build = partial(PictureKeeper, partial(Drawing, PNG), str(tmp_path), "another's mark")
    replica = ModelReplica(pickle.dumps(ReplicaSpec("test:model", build, IDENTITY)))
    assert replica.ready()[1] == (
        f"cannot build it: {tmp_path} is not the storage that the controlling process uses"
    )


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_a_users_model_raises(error: BaseException) -> None:
    replica = ModelReplica(pickle.dumps(ReplicaSpec("m", partial(Raising, error), IDENTITY)))
    returned = asyncio.run(replica.ask(Request("?")))
    assert isinstance(returned, RejectedRequestError)
    assert returned.cause.detail == type(error).__name__


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (
            ordered("python:nowhere:ask", {}),
            "cannot build it: model 'python:nowhere:ask': there is no module",
        ),
        (ordered("sim:uniform", {"provider": "sim"}), "has another identity: "),
        (ordered("sim:uniform", {}, release="0.0.9"), "has another identity: pytest-factorfair is "),
    ],
)
def test_an_unfit_replica(order: ReplicaSpec, problem: str) -> None:
    replica = ModelReplica(pickle.dumps(order))
    assert replica.ready()[1].startswith(problem)
    assert isinstance(asyncio.run(replica.ask(Request("?"))), FatalModelError)


def test_a_spec_that_cannot_be_unpickled_makes_a_replica_unfit() -> None:
    """An order that cannot be unpickled, e.g. from another release, is reported."""
    assert ModelReplica(b"cnowhere\nThing\n.").ready()[1].startswith("cannot build it: ModuleNotFoundError")


def test_more_replicas_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are more replicas than GPUs, a note says so until all have started."""
    cluster = connected(Ray(say), monkeypatch, 1.0, 1.0)
    model = ReplicatedModel(Local(), ordered("test:model"), cluster, Replicas(3))
    model.connect()
    assert model.notice == (
        "test:model: 2 of 3 replicas found room (each needs 1 GPUs, and the cluster began with 2); the others "
        "start when a node joins"
    )
    asked(model, requests(1))  # all come here, as after a node has joined
    assert model.notice is None


@pytest.mark.parametrize(
    ("replicas", "address", "gpus"),
    [
        (Replicas(gpus=4), "head:1", (2.0,)),  # of a number that follows from the GPUs
        (Replicas(), "head:1", ()),
        (Replicas(3), "", ()),  # started here, where no node will join
    ],
)
def test_too_few_gpus(
    replicas: Replicas, address: str, gpus: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    cluster = connected(Ray(say), monkeypatch, *gpus, address=address)
    with pytest.raises(InputError) as error:
        ReplicatedModel(Local(), ordered("test:model"), cluster, replicas).connect()
    assert str(error.value) == (
        f"{cluster.name}: no node has {replicas.gpus:g} GPUs for a replica (the cluster has {sum(gpus):g}): "
        "add gpus=0 to --factorfair-replicas to use none"
    )


def test_a_cluster_that_grows_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = connected(Ray(say), monkeypatch)
    model = ReplicatedModel(Local(), ordered("test:model"), cluster, Replicas(3))
    model.connect()
    assert model.parallel == 3 * PARALLEL
    assert model.notice is not None
    assert model.notice.startswith("test:model: 0 of 3 replicas found room ")
