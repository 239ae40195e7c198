"""The limits of a run hold for all its processes together, and a run that they end can be resumed."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.sources import OptionValue, parsed
from pytest_factorfair.domain import Ceilings
from pytest_factorfair.engine.limits import LocalLimits
from pytest_factorfair.errors import InputError
from pytest_factorfair.store import Store
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests import forkserver
from tests.project import PYTEST, TOGETHER, Project
from tests.servers import StubServer

GATE = "--factorfair-gate=s_fact[objective] >= 0.01"
ANSWERS = 6 * 4 + 4 * 2 * 24
ALONE = ("-p", "no:xdist")


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, GATE, *arguments, model="hosted_vllm/m")


def test_calls_are_counted_over_all_processes_and_the_next_run_goes_on(
    project: Project, stub: StubServer
) -> None:
    stub.script(latency=0.02)
    result = run(project, stub, "-n2", "-v", "--factorfair-max-calls=100")
    assert stub.stats()["requests"] == 100
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*; 100 calls, cost unknown*", "*the budget of 100 calls is used up*"])
    assert project.report()["usage"]["calls"] == 100
    assert project.report()["usage"]["tokens_in"] > 0
    assert "Traceback" not in result.stdout.str()
    assert set(project.verdicts().values()) == {"not judged"}
    assert project.report()["incomplete"].startswith("the budget of 100 calls is used up: ")
    assert project.rows_of_runs() == 0

    assert run(project, stub, *ALONE).ret == 0
    assert stub.stats()["requests"] == ANSWERS  # every one of the hundred was kept
    usage = project.report()["usage"]
    assert (usage["cached"], usage["calls"]) == (100, ANSWERS - 100)


@pytest.mark.parametrize("sharing", [(), ("--factorfair-run=nightly",), ("--factorfair-shard=1/2",)])
def test_only_limits_that_are_shared_are_rows(
    project: Project, stub: StubServer, sharing: tuple[str, ...]
) -> None:
    """Those of one process are in its memory. Workers: the run above."""
    limits = (f"--factorfair-max-calls={ANSWERS}", "--factorfair-max-minutes=5", *sharing)
    assert run(project, stub, *ALONE, *limits).ret == 0
    assert stub.stats()["requests"] == project.report()["usage"]["calls"]
    with closing(sqlite3.connect(project.path / ".factorfair" / "responses.sqlite")) as store:
        tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
    shared = {"runs", "process_accounts", "endpoints"}
    assert shared & tables == (shared if sharing else set())
    assert project.rows_of_runs() == 0


def test_retries_count_as_calls(project: Project, stub: StubServer) -> None:
    stub.script(healthy=1, fail=21, status=503, headers={"Retry-After": "0"})
    assert run(project, stub, *ALONE, "--factorfair-max-calls=40").ret == 2
    assert stub.stats()["requests"] == 40
    run(project, stub, *ALONE, "--factorfair-max-calls=300")
    assert stub.stats()["requests"] == ANSWERS + 20


def test_a_call_repeated_without_a_refused_parameter_counts(project: Project, stub: StubServer) -> None:
    stub.script(refuse=["temperature"])
    options = (*ALONE, "--factorfair-max-connections=2", "--factorfair-max-calls=20")
    assert run(project, stub, *options).ret == 2
    assert stub.stats()["requests"] == 20
    run(project, stub, *ALONE, "--factorfair-max-connections=2")
    assert stub.stats()["requests"] >= ANSWERS + 2  # each run learns it by one call, or by two at once
    former = 20 - project.report()["usage"]["cached"]  # calls of the first run that were refused
    assert project.report()["usage"]["calls"] == stub.stats()["requests"] - 20
    assert former in (1, 2)


def test_a_run_ends_when_its_minutes_are_used_up(project: Project, stub: StubServer) -> None:
    """They pass in the moment in which the server receives a call; those under way then are kept."""
    minutes, calls, clock = 30, 20, LocalLimits.clock

    def later(limits: LocalLimits) -> float:
        return clock(limits) + 60 * minutes * (int(stub.stats()["requests"]) >= calls)

    options = (f"--factorfair-max-minutes={minutes}", "--factorfair-max-connections=4")
    with mock.patch.object(LocalLimits, "clock", later):
        result = run(project, stub, *ALONE, *options)
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*the budget of {minutes} minutes is used up*"])
    assert calls <= stub.stats()["requests"] <= calls + 3
    run(project, stub, *ALONE)
    assert stub.stats()["requests"] == ANSWERS


STARTS = """
import time
from pytest_factorfair.domain import Grant
from pytest_factorfair.store.sharing.limits import SharedLimits

take = SharedLimits.take

def noting(limits, request):
    def note(decided):
        if isinstance(grant := decided.result(), Grant):
            start = request.now + grant.wait
            with open("starts", "a") as file:
                file.write(f"{start} {time.monotonic() + start - limits.clock()}\\n")
    decision = take(limits, request)
    decision.add_done_callback(note)
    return decision

SharedLimits.take = noting
"""
"""A ``conftest.py`` that notes when granted calls may start, by the clocks of the run and of the machine."""


def test_calls_a_minute_hold_for_all_processes(project: Project, stub: StubServer) -> None:
    """They are granted apart, and none arrives before it may start; a busy machine may delay it."""
    project.write("conftest.py", STARTS)
    result = run(project, stub, "-n2", "--factorfair-max-rpm=6000")  # one every 10 ms
    assert result.ret == 0
    lines = (project.path / "starts").read_text().splitlines()
    starts, local_starts = (sorted(map(float, column)) for column in zip(*map(str.split, lines), strict=True))
    assert len(starts) == ANSWERS
    assert all(later - start >= 0.01 - 1e-5 for start, later in pairwise(starts))
    resolution = 0.002  # of the timers of event loops
    arrivals = zip(local_starts, stub.stats()["arrived"], strict=True)
    assert all(arrived >= start - resolution for start, arrived in arrivals)


PAID = """
from pytest_factorfair.domain import Response

class Paid:
    endpoint, parallel, identity = "paid", None, {"provider": "paid"}
    async def ask(self, request):
        with open("calls", "a") as file:
            file.write("x")
        return Response('{"answer": "A"}', cost=%s)
    async def close(self):
        pass

def pytest_factorfair_models(config):
    return {"paid": lambda spec: Paid()}
"""


def asked(project: Project) -> int:
    return len((project.path / "calls").read_text())


def test_cost_is_limited_over_all_processes(project: Project) -> None:
    project.write("conftest.py", PAID % "0.01")
    options = ("--factorfair-max-cost=0.5", "--factorfair-max-connections=4")
    result = project.run("-n2", *options, "--factorfair-model-arg=price=0.01", model="paid:")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*the budget of $0.50 is used up*"])
    assert asked(project) == 50


def test_calls_in_flight_never_exceed_the_cost(project: Project, stub: StubServer) -> None:
    """What the answers in the store have cost is all that was paid."""
    stub.script(latency=0.05)
    arguments = [
        f"--factorfair-model-arg={argument}" for argument in ("price_in=2.5", "price_out=10", "max_tokens=50")
    ]
    result = run(project, stub, *ALONE, *arguments, "--factorfair-max-cost=0.05")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*the budget of $0.05 is used up*"])
    with closing(sqlite3.connect(project.path / ".factorfair" / "responses.sqlite")) as store:
        costs = [json.loads(body)["cost"] for (body,) in store.execute("select body from responses")]
    assert len(costs) == stub.stats()["requests"]
    worst = 2.5e-6 * 2000 + 1e-5 * 50  # of a prompt of 2,000 bytes
    assert 0.05 - worst <= sum(costs) <= 0.05


def test_a_limit_on_usd_needs_a_price(project: Project, stub: StubServer) -> None:
    result = run(project, stub, "-n2", "--factorfair-max-cost=0.5")
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        "ERROR: --factorfair-max-cost: the price of 'hosted_vllm/m' is unknown; give --factorfair-model-arg "
        "price_in=USD and --factorfair-model-arg price_out=USD (per million tokens), or price=USD (per answer; 0 if it "
        "is free), or limit --factorfair-max-calls instead"
    )
    assert stub.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("dist", "failures"),
    [
        ("-n2", {"fail": -1, "status": 503, "headers": {"Retry-After": "0"}}),
        # The first three calls fail in three ways.
        ("-n0", {"resets": 0.5, "cuts": 0.3, "raw": '{"choices": ['}),
    ],
    ids=["503", "broken"],
)
def test_failed_calls_that_may_be_billed_use_up_the_cost(
    project: Project, stub: StubServer, dist: str, failures: dict[str, Any]
) -> None:
    stub.script(**failures)
    options = (
        "--factorfair-model-arg=price=0.25",
        "--factorfair-max-cost=3",
        "--factorfair-max-connections=4",
    )
    result = run(project, stub, dist, "-v", "FACTORFAIR_PATIENCE=1", *options)
    assert 3 <= stub.stats()["requests"] <= 12
    (calls,) = re.findall(r"; ([0-9]+) calls", result.stdout.str())
    (cost,) = re.findall(r"cost at most \$([0-9.]+), ", result.stdout.str())
    assert int(calls) == stub.stats()["requests"]
    assert float(cost) == 0.25 * int(calls)


def test_refused_calls_are_free(project: Project, stub: StubServer) -> None:
    stub.script(fail=10, status=429, headers={"Retry-After": "0"})
    options = (
        "--factorfair-model-arg=price=0.25",
        "--factorfair-max-cost=3",
        "--factorfair-max-connections=1",
    )
    result = run(project, stub, *ALONE, "-v", *options)
    assert stub.stats()["requests"] == 10 + 12
    result.stdout.fnmatch_lines(["*; 22 calls (10 throttled with 429), cost $3.00*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["price=cheap"], "--factorfair-model-arg price: expected USD of at least 0, got 'cheap'"),
        (
            ["price_in=-1", "price_out=1"],
            "--factorfair-model-arg price_in: expected USD of at least 0, got '-1'",
        ),
        (["price_in=1"], "--factorfair-model-arg: give both price_in and price_out (USD per million tokens)"),
    ],
)
def test_wrong_price(project: Project, arguments: list[str], message: str) -> None:
    result = project.run(*ALONE, *(f"--factorfair-model-arg={argument}" for argument in arguments))
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [f"ERROR: {message}"]


@pytest.mark.parametrize("value", ["0", "-1", "x", "inf", "nan"])
@pytest.mark.parametrize("option", ["max-calls", "max-cost", "max-minutes", "max-rpm"])
def test_wrong_limit(tmp_path: Path, option: str, value: str) -> None:
    """What a run prints then and how it ends: test_usage_errors, with one value of each option."""
    (limit,) = (declared for declared in OPTIONS if declared.name == option)
    with pytest.raises(InputError, match=f"^it: expected a .*, got '{value}'$"):
        parsed(limit, OptionValue(value, "it", tmp_path))


def test_two_runs_of_one_name_make_as_many_calls_as_one(project: Project, stub: StubServer) -> None:
    """With other seeds, so that they share no answer."""
    project.write("conftest.py", TOGETHER)
    stub.script(latency=0.05)
    runs = [
        subprocess.Popen(
            [
                *(forkserver.python(), *PYTEST, "-p", "no:xdist", "-p", "no:cacheprovider"),
                *project.arguments("hosted_vllm/m"),
                f"--factorfair-model-arg=base_url={stub.base_url}",
                *("--factorfair-run=nightly", "--factorfair-max-calls=150", "--factorfair-max-connections=8"),
                *(f"--factorfair-seed={seed}", f"--factorfair-report=report{seed}"),
            ],
            cwd=project.path,
            stdout=subprocess.PIPE,
        )
        for seed in range(2)
    ]
    for run in runs:
        output = run.communicate(timeout=60)[0].decode()
        assert run.returncode == 2
        assert "the budget of 150 calls is used up" in output
    assert stub.stats()["requests"] == 150
    reports = [json.loads((project.path / f"report{seed}/report.json").read_text()) for seed in range(2)]
    assert sum(report["usage"]["calls"] for report in reports) == 150


def test_a_run_in_progress_has_its_limits(project: Project) -> None:
    url = f"sqlite:///{project.path}/shared.sqlite"
    with Store.open(url) as store, closing(SharedLimits.begin(store, Ceilings(calls=5), run="nightly")):
        result = project.run(
            "-p",
            "no:xdist",
            f"--factorfair-store={url}",
            "--factorfair-run=nightly",
            "--factorfair-max-calls=6",
        )
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        "ERROR: --factorfair-run=nightly: the run is in progress with max-calls=5, and this process was given "
        "max-calls=6; give every process the same limits"
    )
