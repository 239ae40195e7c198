"""The parts of ``cluster`` that can be tested without a cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.ray import cluster
from pytest_factorfair.ray.cluster import Cluster, mismatches


@pytest.fixture(autouse=True)
def _ray_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: object())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_an_address_where_nothing_answers_is_refused(closed_port: int) -> None:
    with pytest.raises(InputError, match=f"ray:127.0.0.1:{closed_port}: nothing answers at 127.0.0.1:"):
        Cluster(f"127.0.0.1:{closed_port}").connect()


def test_an_address_of_the_environment(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", f"localhost:{closed_port}")
    with pytest.raises(InputError, match=f"executor=ray: nothing answers at localhost:{closed_port}"):
        Cluster("").connect()


def test_ray_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    with pytest.raises(InputError, match="not a URL: Ray Client is not supported"):
        Cluster("").connect()


def test_the_cause_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause of Ray's error is found, whether it is chained to the error or quoted in its text."""
    text = "Failed. Last: Traceback (most recent call last):\n  File 'a', line 1\n    ^^\nray.AuthenticationError: wrong"

    def fail(_: Cluster) -> None:
        raise ConnectionError("Failed to connect") from RuntimeError(text)

    monkeypatch.setattr(Cluster, "_join", fail)
    with pytest.raises(InputError, match=r"executor=ray:head:1: ray\.AuthenticationError: wrong$"):
        Cluster("head:1").connect()


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pytest-factorfair\[ray\]"):
        Cluster("")


@pytest.mark.parametrize(("gpus", "room"), [(1, 3), (0.5, 6), (0.6, 3), (0.3, 9), (2, 1), (3, 0)], ids=str)
def test_replicas_are_counted_by_the_gpus_of_nodes(gpus: float, room: int) -> None:
    """Room on nodes with two GPUs, one and none; a share is one of a single GPU."""
    several = Cluster("")
    several.gpus = (2.0, 1.0, 0.0)
    assert several.room(gpus) == room


def test_differing_fields_of_identities_are_listed() -> None:
    local = {"provider": "diffusers", "versions": {"torch": "2.13", "diffusers": "0.42"}, "weights": "a1"}
    remote = {"provider": "diffusers", "versions": {"torch": "2.12", "diffusers": "0.42"}, "device": "cuda"}
    assert mismatches(local, remote) == [
        'versions.torch is "2.12", here "2.13"',
        'weights is not given, here "a1"',
        'device is "cuda", here not given',
    ]
    assert mismatches(local, local) == []
