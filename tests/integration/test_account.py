"""The calls that a run reports are those that the server received, however the run ends."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Response
from pytest_factorfair.engine.dispatcher import priced
from tests import forkserver
from tests.project import INTERRUPTIBLE, Project
from tests.servers import StubServer

FEW = "--factorfair-max-connections=4"


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, FEW, *arguments, model="hosted_vllm/m")


def calls(output: str) -> int:
    """What the terminal says."""
    (count,) = re.findall(r"; ([\d,]+) calls?, .*", output)
    return int(count.replace(",", ""))


def check(project: Project, stub: StubServer, result: pytest.RunResult) -> None:
    received = stub.stats()["requests"]
    assert received > 0
    assert calls(result.stdout.str()) == received
    assert project.report()["usage"]["calls"] == received


def test_a_refused_key_ends_the_run(project: Project, stub: StubServer) -> None:
    """In mid-run, as workers have calls under way."""
    stub.script(latency=0.02, healthy=40, fail=10_000, status=401)
    result = run(project, stub, "-n2")
    result.stdout.fnmatch_lines(["*401 Unauthorized*"])
    check(project, stub, result)


PRICED = ("--factorfair-model-arg=price_in=2", "--factorfair-model-arg=price_out=10")
ANSWERS = 6 * 4 + 4 * 2 * 24


def call_texts(project: Project, result: pytest.RunResult) -> list[str]:
    """What the terminal, report.md and the page show, without line breaks and escapes."""
    folder = project.report_path.parent
    texts = [result.stdout.str(), *((folder / name).read_text() for name in ("report.md", "report.html"))]
    return [" ".join(html.unescape(text.replace("\\", "")).split()) for text in texts]


def test_estimated_costs_and_replies_of_another_model_are_noted(project: Project, stub: StubServer) -> None:
    """A server that fails may bill the call all the same: at most, at its highest price."""
    alone = ("-p", "no:xdist", *PRICED)
    stub.script(reply={"model": "routed/m"})
    exact = call_texts(project, run(project, stub, *alone, "-k", "objective"))
    usage = project.report()["usage"]
    assert usage["tokens_in"] > 0
    assert usage["cost"] == pytest.approx((2 * usage["tokens_in"] + 10 * usage["tokens_out"]) / 1e6)
    assert usage["estimated"] == 0
    assert all(f"cost ${usage['cost']:.4f}" in text for text in exact)  # half a cent
    assert not any("was asked, and the" in text for text in exact)

    stub.script(fail=3, status=500, reply={"model": "m-mini"})
    estimated = call_texts(project, run(project, stub, *alone, "-v"))
    usage = project.report()["usage"]
    assert (usage["estimated"], usage["calls"]) == (3, ANSWERS - 6 * 4 + 3)
    note = "hosted_vllm/m: m was asked, and the replies name m-mini (192 replies) and routed/m (24 replies)"
    for words in (f"cost at most ${usage['cost']:.2f}", note):
        assert all(words in text for text in estimated)
    assert note in project.report()["notes"]


def test_a_service_that_changes_during_the_run_is_noted(
    project: Project, stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its fingerprints, of which each reply keeps its own; and in the evidence."""
    alone = ("-p", "no:xdist", *PRICED)
    gate = "--factorfair-gate=refusal_rate <= 0.5"
    stub.script(reply={"system_fingerprint": "fp_old"})
    first = run(project, stub, *alone, "-k", "objective", gate)
    assert not any("system_fingerprint" in line for line in first.outlines)
    stub.script(reply={"system_fingerprint": "fp_new"})
    texts = call_texts(project, run(project, stub, *alone, gate))
    note = (
        "hosted_vllm/m: its service changed during the run: the system_fingerprint is fp_new (192 replies) and "
        "fp_old (24 replies)"
    )
    assert all(note in text for text in texts)
    assert note in project.report()["notes"]
    replies = (project.report_path.parent / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    fingerprints = Counter(json.loads(line)["response"]["configuration"] for line in replies)
    assert fingerprints == {"fp_new": 192, "fp_old": 24}
    assert main(["evidence", str(project.report_path.parent), "-o", str(project.path / "evidence")]) == 0
    capsys.readouterr()
    (page,) = (project.path / "evidence").rglob("*.md")
    assert note in page.read_text(encoding="utf-8").replace("\\", "")


def test_absurd_numbers_of_tokens_are_unknown(project: Project, stub: StubServer) -> None:
    """Even those that no database takes."""
    for count in (-1, 10**9 + 1):
        assert priced(Response("A", tokens_in=count), None, ()).tokens_in is None
    stub.script(reply={"usage": {"prompt_tokens": 10**30, "completion_tokens": 2}})
    result = run(project, stub, "-p", "no:xdist", *PRICED)
    assert result.ret == 0
    usage = project.report()["usage"]
    assert (usage["tokens_in"], usage["tokens_out"], usage["estimated"]) == (0, 2 * ANSWERS, ANSWERS)
    assert "cost at most $" in call_texts(project, result)[0]


TWO = """
import itertools
from pytest_factorfair.domain import Response

count = itertools.count()

def answer(prompt):
    number = next(count)
    return Response('{"answer": "A"}', model="first" if number < 200 else f"other-{number % 4}")
"""


def test_a_function_whose_replies_name_several_models(project: Project) -> None:
    project.write("functions.py", TWO)
    project.run("-n0", model="python:functions.py:answer")
    assert (
        "python:functions.py:answer: one model was asked, and the replies name first (200 replies), other-0 "
        "(4 replies), other-1 (4 replies) and 2 others"
    ) in project.report()["notes"]


def test_ctrl_c_ends_the_run(project: Project, stub: StubServer, dist: tuple[str, ...]) -> None:
    stub.script(latency=0.3)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    process = subprocess.Popen(
        [forkserver.python(), "-c", INTERRUPTIBLE, *dist, FEW, url, *project.arguments("hosted_vllm/m")],
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
from pytest_factorfair.store.sharing.limits import SharedLimits

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        SharedLimits.join = lambda *_, **__: None
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


@pytest.mark.parametrize("warm", [(), ("FACTORFAIR_WARM=true",)])
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
    result = run(project, stub, "-p", "no:xdist", *warm)
    result.assert_outcomes(passed=2, xfailed=8, skipped=4)
    assert stub.stats()["requests"] == 2 * 24
    check(project, stub, result)
