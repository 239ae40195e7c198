"""A run works without the modules that only POSIX has; simulated, with calls counted at the server."""

from __future__ import annotations

import os

import pytest

from tests.project import Project
from tests.servers import StubServer

WITHOUT = """
import sys

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None  # importing it raises ImportError
"""
ANSWERS = 6 * 4 + 4 * 2 * 24


@pytest.fixture
def elsewhere(project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose processes, workers included, lack these modules."""
    project.write("sitecustomize.py", WITHOUT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(project.path), os.environ.get("PYTHONPATH", "")]))
    stub.script(latency=0.01)
    return project


def test_every_limit_holds(elsewhere: Project, stub: StubServer) -> None:
    """All limits with workers, where they are hardest to keep; without them, calls in the next run from the same store.

    What each limit does in either distribution where no module is missing is in test_budget and test_connections.
    """
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    limits = [
        "--factorfair-max-connections=4", "--factorfair-max-rpm=60000", "--factorfair-max-minutes=5",
        "--factorfair-max-cost=0.6", "--factorfair-model-arg=price=0.01", "--factorfair-max-calls=100",
    ]  # fmt: skip
    result = elsewhere.run_anew(url, "-n2", *limits, model="hosted_vllm/m")
    result.stdout.fnmatch_lines(["*the budget of $0.60 is used up*"])
    assert stub.stats()["requests"] == 60
    assert stub.stats()["most_in_flight"] <= 4
    assert elsewhere.run_anew(url, "-n0", "--factorfair-max-calls=170", model="hosted_vllm/m").ret == 0
    assert stub.stats()["requests"] == ANSWERS
    assert elsewhere.rows_of_runs() == 0
