"""What a run says it asked is what the server received, whatever ends the run; of limits, see test_budget."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from tests import forkserver
from tests.project import Project
from tests.servers import StubServer

PROCESSES = pytest.mark.parametrize("dist", ["-n0", "-n2"])
FEW = "--factorfair-max-connections=4"
INTERRUPTIBLE = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with it ignored
sys.exit(pytest.main(sys.argv[1:]))
"""


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, FEW, *arguments, model="hosted_vllm/m")


def calls(output: str) -> int:
    """What the terminal says."""
    (said,) = re.findall(r"; ([\d,]+) calls?, .*", output)
    return int(said.replace(",", ""))


def check(project: Project, stub: StubServer, result: pytest.RunResult) -> None:
    received = stub.stats()["requests"]
    assert received > 0
    assert calls(result.stdout.str()) == received
    if project.report_path.exists():
        assert project.report()["usage"]["calls"] == received


@PROCESSES
def test_a_refused_key_ends_the_run(project: Project, stub: StubServer, dist: str) -> None:
    stub.script(latency=0.02, healthy=40, fail=10_000, status=401)
    result = run(project, stub, dist)
    result.stdout.fnmatch_lines(["*401 Unauthorized*"])
    check(project, stub, result)


def test_nothing_but_a_refused_key_costs_nothing(project: Project, stub: StubServer) -> None:
    stub.script(fail=-1, status=401)
    result = project.run(
        f"--factorfair-model-arg=base_url={stub.base_url}", "-n0", "--factorfair-max-connections=1",
        model="hosted_vllm/m",
    )  # fmt: skip
    result.stdout.fnmatch_lines(["*; 1 call, 0 from the store, cost $0.00, *"])
    assert stub.stats()["requests"] == 1


@PROCESSES
def test_ctrl_c_ends_the_run(project: Project, stub: StubServer, dist: str) -> None:
    stub.script(latency=0.3)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    process = subprocess.Popen(
        [forkserver.python(), "-c", INTERRUPTIBLE, dist, FEW, url, *project.arguments("hosted_vllm/m")],
        cwd=project.path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while stub.stats()["requests"] < 13:
        time.sleep(0.05)
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "Not judged: the run was interrupted" in output
    assert calls(output) == stub.stats()["requests"]
    assert "cost unknown" in output


def test_a_crashed_worker_has_counted_what_it_sent(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.02)
    project.write(
        "conftest.py",
        "import os\n\ndef pytest_runtest_teardown(item):\n"
        "    if 'queue_rate-race-highest' in item.name:\n        os._exit(3)\n",
    )
    run(project, stub, "-n2")
    too_many = project.report()["usage"]["calls"] - stub.stats()["requests"]
    assert 0 <= too_many <= 4  # the worker was about to send them


ELSEWHERE = """
from pytest_factorfair.store import Limits

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        Limits.join = lambda *_, **__: None
"""


def test_workers_with_another_store_report_what_they_asked(project: Project, stub: StubServer) -> None:
    """As on another machine, whose file is not the controller's."""
    project.write("conftest.py", ELSEWHERE)
    result = run(project, stub, "-n2")
    assert result.ret == 0
    check(project, stub, result)


def test_workers_with_another_store_keep_no_limits(project: Project, stub: StubServer) -> None:
    project.write("conftest.py", ELSEWHERE)
    result = run(project, stub, "-n2", "--factorfair-max-calls=100")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*responses.sqlite: not the controller's store: on several machines, limits*"]
    )
    assert stub.stats()["requests"] == 0


def test_what_a_second_run_finds_in_the_store_is_no_call(project: Project, stub: StubServer) -> None:
    first = run(project, stub, "-n0", "-k", "objective")
    check(project, stub, first)
    asked = project.report()["usage"]["calls"]
    result = run(project, stub, "-n2")
    usage = project.report()["usage"]
    assert (usage["cached"], usage["calls"]) == (asked, stub.stats()["requests"] - asked)
    assert calls(result.stdout.str()) == usage["calls"]


@pytest.mark.parametrize("warm", [(), ("--factorfair-warm",)])
def test_items_that_do_not_run_are_not_asked_ahead(
    project: Project, stub: StubServer, warm: tuple[str, ...]
) -> None:
    project.write(
        "conftest.py",
        "import pytest\n\nMARKS = {'tea': pytest.mark.xfail(run=False), 'objective-q': pytest.mark.skip,\n"
        "         'subjective-queue_rate-highest': pytest.mark.skipif(True, reason='no')}\n\n"
        "def pytest_itemcollected(item):\n"
        "    for word in (word for word in MARKS if word in item.name):\n        item.add_marker(MARKS[word])\n",
    )
    result = run(project, stub, "-n0", *warm)
    result.assert_outcomes(passed=2, xfailed=8, skipped=4)
    assert stub.stats()["requests"] == 2 * 24
    check(project, stub, result)
