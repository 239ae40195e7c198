"""What a signal to the controller stops, and what a 429 to one worker tells the others: counted at the server."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from tests import forkserver
from tests.project import PYTEST, Project
from tests.servers import StubServer

CONNECTIONS = 4
SUBJECTIVE = 4 * 2 * 24
ANSWERS = 6 * 4 + SUBJECTIVE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_workers_stop_asking_within_a_second(project: Project, stub: StubServer, number: int) -> None:
    stub.script(latency=0.4)  # a worker's item takes some seconds
    process = subprocess.Popen(
        [
            *(forkserver.python(), *PYTEST, "-n2", "-k", "subjective"),
            f"--factorfair-max-connections={CONNECTIONS}",
            *project.arguments("hosted_vllm/m"),
            f"--factorfair-model-arg=base_url={stub.base_url}",
        ],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while stub.stats()["requests"] < 3 * CONNECTIONS:
        time.sleep(0.01)
    _, *workers = forkserver.family(process.pid)
    assert len(workers) == 2
    sent = time.monotonic()  # the server's clock, too: it is the machine's
    os.kill(process.pid, number)
    process.wait()
    time.sleep(max(0.0, sent + 2 - time.monotonic()))
    later = [moment - sent for moment in stub.stats()["arrived"] if moment > sent]
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert [moment for moment in later if moment > 1] == []
    assert stub.stats()["requests"] < SUBJECTIVE


def test_a_pause_asked_of_one_worker_holds_for_all(project: Project, stub: StubServer) -> None:
    """Each window lets some calls in and tells one too many when it ends; nobody else comes before."""
    stub.script(latency=0.02, rate=60, window=1.0)
    options = (f"--factorfair-model-arg=base_url={stub.base_url}", "--factorfair-max-connections=16")
    result = project.run("-n2", *options, model="hosted_vllm/m")
    assert result.ret == 0
    stats = stub.stats()
    assert stats["throttled"] > 0
    assert stats["early"] == 0
    assert project.report()["usage"]["calls"] == stats["requests"] == ANSWERS + stats["throttled"]
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
