"""Detectors in replicas: what happens to pictures whose replica is lost; with a fake of Ray."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.detection import build
from pytest_factorfair.domain import Detection
from pytest_factorfair.errors import DetectorError, FatalModelError
from pytest_factorfair.ray.cluster import Cluster, ClusterTimeouts
from pytest_factorfair.ray.detector import CHUNK, Chunk, DetectorReplica, ReplicatedDetector
from pytest_factorfair.ray.pool import ReplicaSpec
from tests.scripted_ray import TIMEOUTS, DiedError, Ray, TaskError, connected
from tests.unit.detection.builders import BOTH

PICTURES = [bytes([number]) for number in range(9 * CHUNK + 3)]
SEEN = tuple(Detection(error=f"seen {number}") for number in range(len(PICTURES)))

Replicated = Callable[..., ReplicatedDetector]


def read(_replica: int, chunk: Chunk) -> object:
    return tuple(SEEN[picture[0]] for picture in chunk.pictures)


@pytest.fixture
def replicated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replicated]:
    detectors = []

    def make(ray: Ray, *, count: int = 2, timeouts: ClusterTimeouts = TIMEOUTS) -> ReplicatedDetector:
        local: Any = SimpleNamespace(identity={}, check=lambda _: None)
        order = ReplicaSpec("detector 'mine'", partial(build, "sim", custom={}), {}, folder="/")
        detectors.append(
            ReplicatedDetector(local, order, connected(ray, monkeypatch, timeouts=timeouts), count)
        )
        return detectors[-1]

    yield make
    for detector in detectors:
        detector.close()


def reads(detector: ReplicatedDetector) -> tuple[Detection, ...]:
    return detector.read(PICTURES, BOTH)


def test_pictures_are_read_in_their_order(replicated: Replicated) -> None:
    ray = Ray(read)
    detector = replicated(ray, count=3)
    assert detector.at_once == 3 * 64
    assert reads(detector) == SEEN
    assert [actor.peak for actor in ray.actors] == [2, 2, 2]
    assert ray.options["num_gpus"] == 0
    assert ray.options["max_task_retries"] == 0


@pytest.mark.parametrize("for_good", [True, False])
def test_a_silent_replica(replicated: Replicated, *, for_good: bool) -> None:
    """The pictures of a silent replica are read by another one."""
    replicas: list[int] = []

    def script(replica: int, chunk: Chunk) -> object:
        replicas.append(replica)
        if replica == 0 and replicas.count(0) <= 2:
            ray.actors[0].silent = True
            return None
        if replicas.count(1) == 5:
            ray.actors[0].silent = for_good
        return read(replica, chunk)

    ray = Ray(script)
    detector = replicated(ray, timeouts=ClusterTimeouts(ping=0.001, silence=0.02))
    assert reads(detector) == SEEN
    assert reads(detector) == SEEN
    assert replicas.count(0) >= 2


def test_a_dead_replica(replicated: Replicated) -> None:
    deaths = [0]

    def script(replica: int, chunk: Chunk) -> object:
        if replica == 0 and len(deaths) < 3:
            deaths.append(1)
            return DiedError("gone")
        return read(replica, chunk)

    assert reads(replicated(Ray(script))) == SEEN
    assert len(deaths) == 3


def test_a_picture_that_kills_its_replica(replicated: Replicated) -> None:
    """A picture that kills replicas is an error, which is counted; the others are read."""

    def script(replica: int, chunk: Chunk) -> object:
        return DiedError("gone") if PICTURES[37] in chunk.pictures else read(replica, chunk)

    detections = reads(replicated(Ray(script)))
    assert detections[:37] + detections[38:] == SEEN[:37] + SEEN[38:]
    assert detections[37].error.startswith(
        "given up after 6 attempts: each lost its replica, the last on node-"
    )


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (DetectorError("the model file does not load"), "detector 'mine': the model file does not load"),
        (TaskError(TypeError("cannot pickle")), "detector 'mine': TypeError: cannot pickle"),
    ],
)
def test_a_detector_that_fails(replicated: Replicated, answer: Exception, line: str) -> None:
    with pytest.raises(DetectorError) as error:
        reads(replicated(Ray(lambda *_: answer)))
    assert str(error.value) == line


def test_every_replica_dies(replicated: Replicated) -> None:
    with pytest.raises(
        DetectorError, match=r"^detector 'mine': every replica was lost 5 times in a row, the "
    ):
        reads(replicated(Ray(lambda *_: DiedError("gone"))))


def test_no_replica_comes(replicated: Replicated) -> None:
    ray = Ray(read, silent=True)
    with pytest.raises(DetectorError) as error:
        reads(replicated(ray, timeouts=ClusterTimeouts(ping=0.001, silence=0.001, patience=0.01)))
    assert str(error.value) == (
        "detector 'mine': no replica for 0.01 s: none could be started; answers so far are kept"
    )


def test_the_head_is_gone(replicated: Replicated, monkeypatch: pytest.MonkeyPatch) -> None:
    watchers: list[Callable[[], object]] = []
    monkeypatch.setattr(Cluster, "watch", lambda _, watcher: watchers.append(watcher))

    with pytest.raises(
        DetectorError, match=r"executor=ray:head:1: the head of the cluster is gone; answers so"
    ):
        reads(replicated(Ray(lambda *_: watchers[0]())))


def test_another_identity(replicated: Replicated) -> None:
    ray = Ray(read, problem="has another identity: sha256 is b2, here a1")
    with pytest.raises(DetectorError) as error:
        reads(replicated(ray))
    assert str(error.value).startswith("detector 'mine': the replica on node-")
    assert str(error.value).endswith(" has another identity: sha256 is b2, here a1")


def test_a_replica_returns_what_its_detector_raises() -> None:
    order = ReplicaSpec(
        "detector 'sim'", partial(build, "sim", custom={}), {"detector": "another"}, folder="/"
    )
    unfit = DetectorReplica(pickle.dumps(order)).ask(Chunk((b"",), BOTH))
    assert isinstance(unfit, FatalModelError)
    assert str(unfit).startswith("has another identity: ")
