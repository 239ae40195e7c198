"""Replicas on a real Ray cluster of two nodes answer as this process does, and nothing is counted twice.

``unit/models/test_replicas.py`` tests the routing without a cluster.

No test uses pytester: it unloads what a test has imported, and Ray and torch crash when they are imported
again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair.errors import BudgetError, FatalModelError
from pytest_factorfair.store.pictures import Folder
from tests.project import FEW_PORTRAITS
from tests.ray_cluster import ANSWERS, CLUSTER, Ground, Nodes, ending

pytestmark = [pytest.mark.slow, *CLUSTER]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint and a pipeline, written without importing torch in this process."""
    folder = tmp_path_factory.mktemp("models")
    code = (
        "import sys; from pathlib import Path; from tests import tiny_checkpoint, tiny_pipeline; "
        "folder = Path(sys.argv[1]); "
        "tiny_checkpoint.write(folder / 'checkpoint'); tiny_pipeline.write(folder / 'pipeline')"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=Path(__file__).parents[2], check=True)
    return folder


def test_the_cluster_and_this_process_answer_alike(ground: Ground, nodes: Nodes) -> None:
    """One store serves both; what comes second asks nothing. A process that was connected stays connected."""
    summary = ground.run(replicas="gpus=0.5", report="cluster")
    assert summary.usage.calls == ANSWERS == ground.begun.total() == ground.rows("responses")
    assert len(ground.begun) == 4  # as many as there is room for
    assert nodes.are_joined
    again = ground.run(report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_runs_here_and_on_the_cluster_continue_each_other(ground: Ground) -> None:
    """A third of the answers comes from this process, a third from the cluster, both to their limits on calls."""
    local: dict[str, Any] = {"executor": "local", "replicas": None}
    ground.run(**local, report="whole", store="sqlite:///whole.sqlite")
    third = ANSWERS // 3
    for place in (local, {}):
        (ground.folder / "begun").unlink()
        assert f"{third} calls" in ending(BudgetError, ground, max_calls=third, **place)
        assert ground.begun.total() == third
    assert ground.rows("responses") == 2 * third
    assert ground.run(**local, report="thirds").usage.calls == third
    assert list(differences(ground.report("whole"), ground.report("thirds"))) == []


def test_a_checkpoint(ground: Ground, nodes: Nodes, models: Path) -> None:
    """Letter probabilities of a real checkpoint; a local run finds them stored.

    A process that was not connected to the cluster before is not afterwards.
    """
    settings: dict[str, Any] = {
        "model": f"transformers:{models / 'checkpoint'}",
        "design": "paper",
        "samples": "2,objective=1",
        "answers": "probabilities",
    }
    nodes.leave()
    summary = ground.run(**settings, replicas=1, report="cluster")
    assert not nodes.are_joined
    nodes.join()
    assert summary.usage.calls == ground.rows("responses") > 0
    again = ground.run(**settings, report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_pictures_and_their_readers(ground: Ground, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real pipeline of random weights, and the real readers; a local run finds pictures and scores.

    The replica keeps its pictures itself; the controlling process writes none.
    """
    settings: dict[str, Any] = {
        "model": f"diffusers:{models / 'pipeline'}",
        "model_arg": {"steps": "1", "size": "64x64"},
        "checklist": [str(FEW_PORTRAITS)],
        "samples": "images=1",
        "detector": "sim",
        "pictures": str(ground.folder / "shared"),
    }

    def refuse(*_: object) -> None:
        raise AssertionError("the controlling process was to keep a picture")

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "keep", refuse)
        summary = ground.run(**settings, replicas="1,detectors=2", report="cluster")
    files = list((ground.folder / "shared").glob("*/*"))
    assert summary.usage.calls == ground.rows("responses") == len(files) > 0
    again = ground.run(**settings, report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_another_identity(ground: Ground) -> None:
    """Pictures of two versions must not be averaged."""
    with (ground.folder / "model.py").open("a") as file:
        file.write('\nask.factorfair_version = "2" if "RAY_RAYLET_PID" in os.environ else "1"\n')
    line = ending(FatalModelError, ground)
    assert f"the replica on {os.uname().nodename} (pid " in line
    assert line.endswith('has another identity: version is "2", here "1"')
    assert ground.begun.total() == 0


def test_a_node_that_joins_is_used(ground: Ground, nodes: Nodes) -> None:
    """Three replicas on two GPUs: two answer, and the third starts where there is a node for it."""
    hold = ground.folder / "hold"
    process = ground.start("--factorfair-replicas=3")

    def either(event: Callable[[], bool], act: Callable[[], object]) -> None:
        ground.once(lambda: event() or process.poll() is not None, act).join()

    either(ground.is_under_way, hold.touch)
    assert len(ground.begun) == 2
    with nodes.another():
        either(lambda: len(ground.begun) == 3, hold.unlink)
        output, _ = process.communicate()
    assert process.returncode == 0, output
    assert "found room" not in output
    assert ground.report()["usage"]["calls"] == ANSWERS == ground.begun.total()
    assert len(ground.begun) == 3
