"""Replicas on a real Ray cluster of two nodes: nothing is lost and nothing counted twice, whatever dies.

The nodes are processes of this machine. A stopped process stands for a cut network: Ray sees neither.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair import run
from pytest_factorfair.domain import Summary
from tests import ray_cluster
from tests.project import Project
from tests.ray_cluster import ANSWERS, PARALLEL, Ground

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ray_cluster.INSTALLED, reason="needs the extra ray"),
]
SIZES: dict[str, Any] = {"checklists": ["small.yaml"], "samples": "24,objective=4", "estimator": "plugin"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    started = ray_cluster.start()
    yield started
    started.shutdown()


@pytest.fixture
def ground(project: Project) -> Ground:
    return Ground(project.path)


def asked(ground: Ground, cluster: Any, **more: Any) -> Summary:
    return run(ground.spec, executor=f"ray:{cluster.address}", replicas=2, **(SIZES | more))


def report(folder: str) -> Any:
    return json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))


def test_the_cluster_and_this_process_answer_alike(ground: Ground, cluster: Any) -> None:
    """One store serves both: whichever comes second asks nothing."""
    summary = asked(ground, cluster, report="cluster")
    assert summary.usage.calls == ANSWERS == ground.begun.total() == ground.rows("responses")
    assert len(ground.begun) == 2  # replicas
    again = run(ground.spec, **SIZES, report="local")
    assert again.usage.calls == 0
    assert list(differences(report("cluster"), report("local"))) == []


def test_a_killed_replica(ground: Ground, cluster: Any) -> None:
    """What was under way there is asked elsewhere, and Ray starts another."""

    def kill() -> None:
        os.kill(next(iter(ground.begun)), signal.SIGKILL)

    killed = ground.once(lambda: ground.begun.total() >= 40 and len(ground.begun) == 2, kill)
    summary = asked(ground, cluster)
    killed.join()
    assert ANSWERS <= ground.begun.total() <= summary.usage.calls <= ANSWERS + PARALLEL
    assert ground.rows("responses") == ANSWERS
    assert ground.rows("claims") == 0
