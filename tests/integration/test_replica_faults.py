"""Replicas on a real Ray cluster of two nodes: nothing is lost and nothing counted twice, whatever dies.

The nodes are processes of this machine. A stopped process stands for a cut network or a hung machine: Ray
notices none of them.

No test uses pytester: it unloads what a test has imported, and Ray and torch crash when they are imported
again.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair.ray import cluster
from tests.project import FEW_PORTRAITS
from tests.ray_cluster import ANSWERS, CLUSTER, PARALLEL, Ground, Nodes

pytestmark = [pytest.mark.slow, *CLUSTER]
BRISK = "from pytest_factorfair.ray import cluster\n\ncluster.TIMEOUTS = cluster.ClusterTimeouts(look=0.2, misses=3)\n"


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().partition(")")[2][:4]
    except FileNotFoundError:
        return False


def test_lost_copies_of_a_detector(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is killed, then the other is silent: each picture is counted, and seen as in this process."""
    monkeypatch.setattr(cluster, "TIMEOUTS", cluster.ClusterTimeouts(ping=0.1, silence=1.5))
    settings: dict[str, Any] = {
        "model": "sim:stereotyped",
        "checklist": [str(FEW_PORTRAITS)],
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
    monkeypatch.setattr(cluster, "TIMEOUTS", cluster.ClusterTimeouts(ping=0.1, silence=1.5))
    before = 0

    def stop() -> None:
        nonlocal before
        stopped, running = ground.begun
        os.kill(stopped, signal.SIGSTOP)
        before, running_before = ground.begun[stopped], ground.begun[running]
        # After the silence the other gets all that was under way here.
        while ground.begun[running] < min(running_before + 60, ANSWERS - before):
            time.sleep(0.01)
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
    monkeypatch.setattr(cluster, "TIMEOUTS", cluster.ClusterTimeouts(suspect=1, attempts=3))
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


def test_a_killed_run(ground: Ground) -> None:
    """Its replicas end with it, and the next run asks only what is missing."""
    process = ground.start()
    ground.once(ground.is_under_way, process.kill).join()
    process.communicate()
    stored, replicas = ground.rows("responses"), list(ground.begun)
    summary = ground.run()
    assert stored + summary.usage.calls == ANSWERS == ground.rows("responses")
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
