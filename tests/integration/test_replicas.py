"""Replicas on a real Ray cluster of two nodes: nothing is lost and nothing counted twice, whatever dies.

The nodes are processes of this machine. A stopped process stands for a cut network or a hung machine: Ray
notices none of them. ``unit/models/test_replicas.py`` tests the routing without a cluster.

No test uses pytester: it unloads what a test has imported, and Ray and torch crash when they are imported
again.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair.errors import BudgetError, FatalModelError
from pytest_factorfair.models import cluster
from pytest_factorfair.store.pictures import Folder
from tests import ray_cluster
from tests.project import FEW_PORTRAITS
from tests.ray_cluster import ANSWERS, PARALLEL, Ground, Nodes, ending

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ray_cluster.INSTALLED, reason="needs the extra ray"),
    # Libraries' own affairs, of the versions that are installed.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]
BRISK = "from pytest_factorfair.models import cluster\n\ncluster.PACE = cluster.Pace(look=0.2, misses=3)\n"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    started = Nodes()
    started.join()
    yield started
    started.end()


@pytest.fixture
def ground(tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.chdir(tmp_path)
    return Ground(tmp_path, nodes)


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


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().partition(")")[2][:4]
    except FileNotFoundError:
        return False


def test_the_cluster_and_this_process_answer_alike(ground: Ground, nodes: Nodes) -> None:
    """One store serves both; what comes second asks nothing. A process that was connected stays connected."""
    summary = ground.run(replicas="gpus=0.5", report="cluster")
    assert summary.usage.calls == ANSWERS == ground.begun.total() == ground.rows("responses")
    assert len(ground.begun) == 4  # as many as there is room for
    assert nodes.are_joined
    again = ground.run(report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_a_process_that_was_not_connected_is_not_afterwards(ground: Ground, nodes: Nodes) -> None:
    nodes.leave()
    summary = ground.run()
    assert summary.usage.calls == ANSWERS == ground.begun.total()
    assert not nodes.are_joined
    nodes.join()


def test_a_local_run_comes_first(ground: Ground) -> None:
    """Half of the answers come from this process: the others are the same as if all did."""
    local: dict[str, Any] = {"model": "sim:stereotyped?strength=0.4", "executor": "local", "replicas": None}
    ground.run(**local, report="whole", store="sqlite:///whole.sqlite")
    with pytest.raises(BudgetError):
        ground.run(**local, max_calls=ANSWERS // 2)
    summary = ground.run(local["model"], report="halves")
    assert summary.usage.calls == ANSWERS - ANSWERS // 2
    assert list(differences(ground.report("whole"), ground.report("halves"))) == []


def test_a_checkpoint(ground: Ground, models: Path) -> None:
    """Letter probabilities of a real checkpoint; a local run finds them stored."""
    settings: dict[str, Any] = {
        "model": f"transformers:{models / 'checkpoint'}",
        "design": "paper",
        "samples": "2,objective=1",
        "answers": "probabilities",
    }
    summary = ground.run(**settings, replicas=1, report="cluster")
    assert summary.usage.calls == ground.rows("responses") > 0
    again = ground.run(**settings, report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_pictures_and_their_readers(ground: Ground, models: Path) -> None:
    """A real pipeline of random weights, and the real readers; a local run finds pictures and scores."""
    settings: dict[str, Any] = {
        "model": f"diffusers:{models / 'pipeline'}",
        "model_args": {"steps": "1", "size": "64x64"},
        "checklists": [str(FEW_PORTRAITS)],
        "samples": "images=1",
        "detector": "sim",
    }
    summary = ground.run(**settings, replicas="1,detectors=2", report="cluster")
    assert summary.usage.calls == ground.rows("responses") > 0
    again = ground.run(**settings, report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_lost_copies_of_a_detector(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is killed, then the other is silent: each picture is counted, and seen as in this process."""
    monkeypatch.setattr(cluster, "PACE", cluster.Pace(ping=0.1, silence=1.5))
    settings: dict[str, Any] = {
        "model": "sim:stereotyped",
        "checklists": [str(FEW_PORTRAITS)],
        "samples": "images=4",
        "detector": f"python:{ground.folder / 'detector.py'}:Detector",
    }
    for fault in (signal.SIGKILL, signal.SIGSTOP):
        (ground.folder / fault.name).touch()
    ground.run(**settings, replicas="1,detectors=2", report="cluster")
    pictures = ground.rows("responses")
    assert len(ground.begun) == 3  # the one that was killed twice, as Ray starts another
    assert pictures < ground.begun.total()
    assert ground.rows("detections") == pictures
    local: dict[str, Any] = {"executor": "local", "replicas": None, "store": "sqlite:///local.sqlite"}
    ground.run(**settings | local, report="local")
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_replicas_keep_their_pictures_themselves(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controlling process writes none; a local run finds all of them."""
    settings: dict[str, Any] = {
        "model": "sim:stereotyped",
        "checklists": [str(FEW_PORTRAITS)],
        "samples": "images=2",
        "pictures": str(ground.folder / "shared"),
    }

    def refuse(*_: object) -> None:
        raise AssertionError("the controlling process was to keep a picture")

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "keep", refuse)
        summary = ground.run(**settings, report="cluster")
    kept = list((ground.folder / "shared").glob("*/*"))
    assert summary.usage.calls == ground.rows("responses") == len(kept) > 0
    again = ground.run(**settings, report="local", executor="local", replicas=None)
    assert again.usage.calls == 0
    assert list(differences(ground.report("cluster"), ground.report("local"))) == []


def test_a_killed_replica(ground: Ground) -> None:
    """What was under way there is asked elsewhere, and Ray starts another."""
    ground.run(executor="local", replicas=None, store="sqlite:///local.sqlite", report="local")
    (ground.folder / "begun").unlink()
    ground.once(ground.is_under_way, lambda: os.kill(next(iter(ground.begun)), signal.SIGKILL))
    summary = ground.run()
    assert list(differences(ground.report("local"), ground.report())) == []
    assert ANSWERS <= ground.begun.total() <= summary.usage.calls <= ANSWERS + PARALLEL
    assert ground.rows("responses") == ANSWERS
    assert ground.rows("claims") == 0


def test_a_silent_replica(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up, its late answers are dropped, and it is asked again once it answers pings."""
    monkeypatch.setattr(cluster, "PACE", cluster.Pace(ping=0.1, silence=1.5))
    before = 0

    def stop() -> None:
        nonlocal before
        stopped, other = ground.begun
        os.kill(stopped, signal.SIGSTOP)
        before, others = ground.begun[stopped], ground.begun[other]
        # After the silence the other gets all that was under way here.
        while ground.begun[other] < min(others + 60, ANSWERS - before):
            pass
        os.kill(stopped, signal.SIGCONT)

    stopped = ground.once(ground.is_under_way, stop)
    summary = ground.run(samples="96,objective=4")
    stopped.join()
    answers = 24 + 8 * 96
    assert answers <= ground.begun.total() <= summary.usage.calls <= answers + PARALLEL
    assert ground.rows("responses") == answers
    assert next(iter(ground.begun.values())) > before + PARALLEL


def test_a_prompt_that_kills_its_replica(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three attempts here, then it is an error; no other answer is lost."""
    monkeypatch.setattr(cluster, "PACE", cluster.Pace(suspect=1, attempts=3))
    ground.run(executor="local", replicas=None, store="sqlite:///local.sqlite", report="local")
    with sqlite3.connect(ground.folder / "local.sqlite") as store:
        ((prompt,),) = store.execute(
            "SELECT prompt FROM responses GROUP BY prompt HAVING count(*) = 1 LIMIT 1"
        )
    (ground.folder / "begun").unlink()
    (ground.folder / "poison").write_text(json.loads(prompt), encoding="utf-8")
    summary = ground.run()
    assert ground.rows("responses") == ANSWERS - 1
    # It takes others along before it is asked alone, once.
    assert ANSWERS + 2 <= ground.begun.total() <= summary.usage.calls <= ANSWERS + 2 + PARALLEL - 1
    lines = (ground.folder / ".factorfair/report/responses.jsonl").read_text("utf-8")
    assert lines.count("given up after 3 attempts: each lost its replica") == 1


def test_another_identity(ground: Ground) -> None:
    """Pictures of two versions must not be averaged."""
    with (ground.folder / "model.py").open("a") as file:
        file.write('\nask.factorfair_version = "2" if "RAY_RAYLET_PID" in os.environ else "1"\n')
    line = ending(FatalModelError, ground)
    assert f"the replica on {os.uname().nodename} (pid " in line
    assert line.endswith('has another identity: version is "2", here "1"')
    assert ground.begun.total() == 0


def test_a_node_that_joins(ground: Ground, nodes: Nodes) -> None:
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


def test_a_limit_on_calls(ground: Ground) -> None:
    assert "100 calls" in ending(BudgetError, ground, max_calls=100)
    assert ground.begun.total() == ground.rows("responses") == 100


def test_a_killed_run(ground: Ground) -> None:
    """Its replicas end with it, and the next run asks only what is missing."""
    process = ground.start()
    ground.once(ground.is_under_way, process.kill).join()
    process.communicate()
    had, replicas = ground.rows("responses"), list(ground.begun)
    summary = ground.run()
    assert had + summary.usage.calls == ANSWERS == ground.rows("responses")
    assert (
        ground.begun.total() <= ANSWERS + 2 * PARALLEL + 2 * PARALLEL
    )  # answers not yet committed, and under way
    assert ground.rows("claims") == 0
    assert not any(map(is_alive, replicas))


def test_an_interrupted_run(ground: Ground) -> None:
    """While replicas are at work, however long the signal takes."""
    process = ground.start()
    ground.once(ground.is_under_way, (ground.folder / "hold").touch).join()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert not any(map(is_alive, ground.begun))
    assert ground.rows("claims") == 0


@pytest.mark.parametrize("token", ["wrong" * 8, ""], ids=["wrong", "none"])
def test_a_cluster_that_refuses_the_token(ground: Ground, token: str) -> None:
    home = {"HOME": str(ground.folder)}  # where Ray looks for a token
    process = ground.start(RAY_AUTH_TOKEN=token, RAY_gcs_server_port_wait_time_s="1", **home)
    output, _ = process.communicate()
    assert process.returncode == pytest.ExitCode.USAGE_ERROR
    line = output.rstrip().splitlines()[-1]  # Ray itself writes a line for each attempt
    assert line.startswith(f"ERROR: --factorfair-executor={ground.nodes.executor}: ")
    assert "AuthenticationError: " in line


def test_a_lost_node(ground: Ground, nodes: Nodes) -> None:
    """The run goes on on the other. Each later test has one node."""
    lost = ground.once(ground.is_under_way, nodes.lose_one)
    summary = ground.run()
    lost.join()
    assert ANSWERS <= ground.begun.total() <= summary.usage.calls <= ANSWERS + PARALLEL
    assert ground.rows("responses") == ANSWERS


def test_the_head_is_gone(ground: Ground, nodes: Nodes) -> None:
    """The last test: it takes the cluster along. A report is written, and nothing is judged."""
    nodes.leave()
    (ground.folder / "conftest.py").write_text(BRISK, encoding="utf-8")
    options = ("--factorfair-replicas=2,gpus=0.5", "--factorfair-samples=96,objective=4")
    process = ground.start(*options, "--factorfair-gate=s_e[base] >= 0.1")
    ground.once(ground.is_under_way, nodes.kill_head).join()
    output, _ = process.communicate()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "the head of the cluster is gone; answers so far are kept" in output
    assert {gate["verdict"] for gate in ground.report()["gates"]} == {"not judged"}
    assert ground.rows("responses") >= 30 - 2 * PARALLEL
    assert ground.rows("claims") == 0
