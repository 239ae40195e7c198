"""Runs by batch at the stub server: left and collected later, killed at every step, in turn with looks."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pytest_factorfair import run
from pytest_factorfair.batches import batching, creating
from pytest_factorfair.commands.cli import main
from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.sources import OptionValue, parsed
from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine.limits import LocalLimits
from pytest_factorfair.errors import InputError, PendingError
from pytest_factorfair.runs.execution import Execution
from tests import forkserver, postgres
from tests.batch_server import DOWNLOADS
from tests.project import PYTEST, TOGETHER, Project, comparable
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
PILOT = 3
LINES = ANSWERS - PILOT
SUBMITTED = 75
IN, OUT = 2e-6, 3e-6
"""The price of a token by batch."""

STORE = ".factorfair/responses.sqlite"

# Polls without pauses, and an end of the process at the moment that KILL names: before or after a step.
# The answers of the pilot are stored in one, two or three commits: they are not counted among the results.
KILLING = """
import os
from pytest_factorfair.batches import batching, collecting, creating
from pytest_factorfair.batches.openai import OpenAIBatches
from pytest_factorfair.store import Store
from pytest_factorfair.store.batches import Batches

batching.FIRST_POLL = 0.01
creating.LISTED = 0.1
collecting.STORED = 20
when, _, number = os.environ.get("KILL", "").partition(":")
left = int(number or 1)

def end(moment):
    global left
    if when == moment:
        left -= 1
        if not left:
            os._exit(9)

def killed(owner, name, step=lambda arguments, options: ""):
    method = getattr(owner, name)
    def sync(*arguments, **options):
        label = name + step(arguments, options)
        end(f"before {label}")
        future = method(*arguments, **options)
        if when == f"after {label}":
            future.result()
        end(f"after {label}")
        return future
    async def coroutine(*arguments, **options):
        end(f"before {name}")
        result = await method(*arguments, **options)
        end(f"after {name}")
        return result
    setattr(owner, name, coroutine if owner is OpenAIBatches else sync)

for name in ("upload", "create", "statuses"):
    killed(OpenAIBatches, name)
for name in ("plan", "end"):
    killed(Batches, name)
killed(Batches, "update", lambda _, options: " " + options.get("state", ""))
killed(Store, "put", lambda arguments, _: " results" if len(arguments) > 4 else "")
"""
STEPS = (
    "plan", "upload", "update uploaded", "update creating", "create", "update submitted", "statuses",
    "update ended", "put results:2", "put results:6", "end",
)  # fmt: skip
MOMENTS = (*(f"before {step}" for step in STEPS), "after end")
"""Before each step, and after the last one. In between, the store has what is committed."""

UNRECORDED = ("after plan", *MOMENTS[: STEPS.index("update creating")])
"""Moments before an upload is on record: the batch is deleted, and the next run begins with another pilot."""


@pytest.fixture
def service(stub: StubServer, project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A service that answers a batch at once; this process polls it without pauses."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(batching, "FIRST_POLL", 0.01)
    monkeypatch.setattr(creating, "LISTED", 0.1)
    stub.script(answer="uniform")
    stub.script_batches(now=time.time(), price_in=IN, price_out=OUT)
    yield stub
    if (project.path / STORE).exists():
        assert b"sk-secret" not in (project.path / STORE).read_bytes()


def options(service: StubServer, *more: str) -> tuple[str, ...]:
    arguments = {"base_url": service.base_url, "price_in": f"{IN * 1e6:g}", "price_out": f"{OUT * 1e6:g}"}
    return (*(f"--factorfair-model-arg={name}={value}" for name, value in arguments.items()), *more)


def rows(project: Project, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(project.path / STORE)) as store:
        store.row_factory = sqlite3.Row
        return [dict(row) for row in store.execute(f"SELECT * FROM {table}")]  # noqa: S608  # ours


def costs(project: Project) -> float:
    """The cost of all stored answers."""
    return sum(float(json.loads(row["body"])["cost"]) for row in rows(project, "responses"))


def test_a_batch_is_left_and_collected_by_the_same_command(
    project: Project, service: StubServer, dist: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.script_batches(duration=100.0)
    command = options(service, *dist, "--factorfair-batch=leave", "--factorfair-gate=refusal_rate <= 0.05")
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines(
        [
            "factorfair: pilot: 3 answers at full price",
            f"factorfair: batch 1 of 1: {LINES} questions submitted to 127.0.0.1:* (at most $*)",
            f"release: NOT JUDGED: submitted: {LINES} answers are in 1 batch at 127.0.0.1:*",
            "Next: run the same command again, by *-*-* *:*",
        ]
    )
    assert project.report()["incomplete"].startswith(f"submitted: {LINES} answers are in 1 batch")
    singly = [word for word in command if "batch" not in word]
    with monkeypatch.context() as patch:  # as if another run had submitted the batch since this one began
        patch.setattr(Execution, "needs_batches", False)
        met = project.run(*singly, model="openai/gpt-4o")
    assert met.ret == SUBMITTED
    met.stdout.fnmatch_lines(
        [
            f"release: NOT JUDGED: submitted: {LINES} answers are in 1 batch at *",
            "Next: run the same command*",
        ]
    )
    assert service.stats()["requests"] == PILOT
    service.script_batches(now=time.time() + 200)
    judged = project.run(*singly, model="openai/gpt-4o")
    assert judged.ret == 0
    statistics = service.batches()
    assert service.stats()["requests"] == PILOT
    assert Counter(statistics["completions"].values()) == {1: LINES}
    usage = project.report()["usage"]
    assert (usage["calls"], usage["batched"], usage["cached"]) == (0, LINES, PILOT)
    billed = sum(statistics["ledger"])
    assert [usage["cost"], usage["batch_cost"]] == pytest.approx([billed, billed], abs=1e-9)
    judged.stdout.fnmatch_lines(
        [f"*0 calls, {LINES} completed in batches for $* ({LINES} read, 0 unreadable), {PILOT} from the *"]
    )
    anew = ("--factorfair-batch=wait", "--factorfair-reuse=none", f"--factorfair-max-calls={PILOT}")
    limited = project.run(*singly, *anew, model="openai/gpt-4o")
    assert limited.ret == pytest.ExitCode.INTERRUPTED  # no worker takes the answers of the batch for new ones
    limited.stdout.fnmatch_lines([f"*the budget of {PILOT} calls is used up: 14 of 14 cases are missing."])


def test_two_runs_at_a_time_send_each_question_once(project: Project, service: StubServer) -> None:
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    project.write("conftest.py", TOGETHER)
    service.script_batches(duration=100.0)
    with postgres.server() as folder:
        store = f"--factorfair-store=postgresql+psycopg://ff@/postgres?host={folder}"
        command = options(service, "-p", "no:xdist", "--factorfair-batch=leave", store)
        words = (*PYTEST, *project.arguments("openai/gpt-4o"), *command)
        runs = [
            subprocess.Popen(
                [forkserver.python(), *words, f"--factorfair-report=report{number}"], cwd=project.path
            )
            for number in range(2)
        ]
        assert [run.wait(timeout=60) for run in runs] == [SUBMITTED] * 2
        service.script_batches(now=time.time() + 200)
        assert project.run(*command, model="openai/gpt-4o").ret == 0
    statistics = service.batches()
    assert set(statistics["completions"].values()) == {1}
    assert len(statistics["completions"]) + service.stats()["requests"] == ANSWERS
    assert project.report()["usage"]["batch_cost"] == pytest.approx(sum(statistics["ledger"]), abs=1e-9)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(("after create", "after put results:2"), id="two"),
        *(pytest.param((moment,), id=moment, marks=pytest.mark.slow) for moment in MOMENTS),
    ],
)
def test_a_killed_run_pays_for_nothing_twice(
    project: Project, service: StubServer, moments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one whose results are late, cut off, or twice in their file."""
    resets = len(moments) == 1 and moments[0] != "before update submitted"
    service.script_batches(resets=resets, null_files=2, cuts=1, duplicated=0.02)
    arguments = options(service, "-p", "no:xdist", "--factorfair-batch=wait")
    project.write("conftest.py", KILLING)
    for moment in moments:
        monkeypatch.setenv("KILL", moment)
        assert project.run_apart(*arguments, model="openai/gpt-4o").ret == 9
    (project.path / "conftest.py").unlink()
    assert project.run(*arguments, model="openai/gpt-4o").ret == 0
    statistics = service.batches()
    assert set(statistics["completions"].values()) == {1}
    pilots = 2 if moments[0] in UNRECORDED else 1
    assert len(statistics["completions"]) == ANSWERS - pilots * PILOT
    assert service.stats()["requests"] == pilots * PILOT
    assert project.stored() == ANSWERS
    assert rows(project, "batch_items") == []
    singly = sum(
        json.loads(row["body"])["cost"]
        for row in rows(project, "responses")
        if row["key"] not in statistics["completions"]
    )
    assert costs(project) - singly == pytest.approx(sum(statistics["ledger"]), abs=1e-9)


def test_each_look_is_a_batch_of_its_own(
    project: Project, service: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate that stays undecided makes each run collect a look and submit the next one."""
    monkeypatch.setattr(batching, "LEAST", 20)
    gate = "--factorfair-gate=s_e[base,gender] >= 0.99"
    command = (
        *options(service, "--factorfair-batch=leave", gate, "FACTORFAIR_LOOKS=3"),
        "FACTORFAIR_ESTIMATOR=corrected",
    )
    codes = []
    for look in range(1, 4):
        service.script_batches(now=time.time() + 100 * look, duration=50.0)
        project.write("test_own.py", f"def test_own():\n    assert {look} < 3\n")
        codes.append(project.run(*command, model="openai/gpt-4o").ret)
    assert codes == [SUBMITTED, SUBMITTED, pytest.ExitCode.TESTS_FAILED]
    (project.path / "test_own.py").unlink()
    service.script_batches(now=time.time() + 1000)
    assert project.run(*command, model="openai/gpt-4o").ret in (0, 1)
    by_leaving = project.verdicts(), service.batches()["lines"]
    assert len(by_leaving[1]) == 3
    (project.path / STORE).unlink()
    service.script_batches(duration=0.0)
    waiting = [word.replace("=leave", "=wait") for word in command]
    project.run(*waiting, model="openai/gpt-4o")
    assert project.verdicts() == by_leaving[0]


def test_commands_and_python_see_what_is_left(
    project: Project, service: StubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    service.script_batches(duration=100.0)
    settings: dict[str, Any] = {
        "checklist": ["small.yaml"],
        "samples": "24,objective=4",
        "model_arg": {"base_url": service.base_url},
        "progress": False,
    }
    with pytest.raises(PendingError, match=f"{LINES} answers are in 1 batch"):
        run("openai/gpt-4o", batch="leave", **settings)
    (row,) = rows(project, "batches")
    name = row["name"][:8]
    capsys.readouterr()

    def command(*words: str) -> str:
        code = main(["batch", *words])
        shown = capsys.readouterr()
        return f"{code} {shown.out}{shown.err}"

    assert command("ls", STORE).startswith(f"0 {name}  gpt-4o: {LINES} questions at 127.0.0.1:")
    model = ("--model=openai/gpt-4o", f"--model-arg=base_url={service.base_url}")
    assert command("cancel", STORE, name, *model).startswith(f"0 batch {name}: 127.0.0.1:")
    assert service.batches()["batches"] == {"batch-0": "cancelled"}
    assert "4 batch" in command("adopt", STORE, name, "batch-9")
    assert command("forget", STORE, name) == (
        f"0 batch {name} is forgotten: the next run asks {LINES} questions again; if the service answers "
        "them, they are paid for twice\n"
    )
    assert command("ls", STORE) == "0 no batches\n"
    assert command("forget", STORE, name).startswith("4 ")


def test_a_model_that_is_no_service_is_refused(project: Project) -> None:
    result = project.run("--factorfair-batch=wait", model="sim:ideal")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*model 'sim:ideal' is no service with batches*"])


class Local:
    """A user's model, which counts its own batches, as models on this machine do."""

    endpoint = "here"
    parallel = None
    batches = 2
    identity: Mapping[str, object] = {"provider": "local"}

    async def ask(self, _request: Request) -> Response:
        return Response("A")

    async def close(self) -> None:
        pass


def test_a_model_with_batches_of_its_own_is_no_service(
    project: Project, service: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither if it is to send batches, nor if an earlier run has left some in the store."""
    monkeypatch.chdir(project.path)
    service.script_batches(duration=100.0)
    settings: dict[str, Any] = {"checklist": ["small.yaml"], "samples": "24,objective=4", "progress": False}
    with pytest.raises(PendingError):
        run("openai/gpt-4o", batch="leave", model_arg={"base_url": service.base_url}, **settings)
    assert run({"mine": Local()}, **settings).summary.usage.calls == ANSWERS
    with pytest.raises(InputError, match="model 'mine' is no service with batches"):
        run({"mine": Local()}, batch="wait", **settings)


@pytest.mark.parametrize("value", ["soon", "files:"])
def test_another_value_of_the_option_is_refused(tmp_path: Path, value: str) -> None:
    (batch,) = (declared for declared in OPTIONS if declared.name == "batch")
    with pytest.raises(InputError, match=f"^it: expected wait, leave or files:DIR, got '{value}'$"):
        parsed(batch, OptionValue(value, "it", tmp_path))


def test_a_service_without_batches_names_the_folder(project: Project, stub: StubServer) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "k")
        result = project.run(*options(stub, "--factorfair-batch=wait"), model="openai/gpt-4o")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has no batches*files:DIR*"])
    assert stub.stats()["requests"] == 0


UNCONFIRMED = (
    "release: NOT JUDGED: submitted: batch * neither confirms nor lists it",
    "Next: *factorfair batch adopt * ID; * factorfair batch forget *",
)


@pytest.mark.parametrize("created", ["500", pytest.param("HTML", marks=pytest.mark.slow)])
def test_a_creation_that_is_never_confirmed_is_repeated_once(
    project: Project, service: StubServer, created: str
) -> None:
    """However often the command is run: both batches may be paid for."""
    service.script_batches(created=created, listed="empty")
    command = options(service, "-p", "no:xdist", "FACTORFAIR_PATIENCE=1")
    for mode in ("wait", "leave", "leave"):
        result = project.run(*command, f"--factorfair-batch={mode}", model="openai/gpt-4o")
        assert result.ret == SUBMITTED
        result.stdout.fnmatch_lines(UNCONFIRMED)
        assert service.batches()["lines"] == [LINES, LINES]
    assert len(service.batches()["names"]) == 1
    assert project.report()["usage"]["calls"] == PILOT + 2 * LINES


@pytest.mark.parametrize("limit", ["calls", "cost"])
def test_a_creation_is_not_repeated_beyond_the_limits_of_the_run(
    project: Project, service: StubServer, limit: str
) -> None:
    """The first one holds 213 lines of at most 1,024 tokens, and the second one as many again."""
    service.script_batches(created="500", listed="empty")
    most = {"calls": PILOT + 2 * LINES - 1, "cost": 1.9 * LINES * 1024 * OUT}[limit]
    command = options(
        service, "-p", "no:xdist", "--factorfair-batch=wait", f"--factorfair-max-{limit}={most}"
    )
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines(
        [f"*the limits of the run do not allow {LINES} lines again", "Next: *batch adopt*batch forget*"]
    )
    assert service.batches()["lines"] == [LINES]


def test_a_creation_that_always_fails_ends_the_run(project: Project, service: StubServer) -> None:
    service.script_batches(created="500", refused=True)
    command = options(service, "-p", "no:xdist", "--factorfair-batch=wait", "FACTORFAIR_PATIENCE=1")
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines(UNCONFIRMED)
    statistics = service.batches()
    assert (statistics["calls"]["POST batches"], statistics["lines"]) == (2, [])


@pytest.mark.parametrize("created", ["without an id", "nested"])
def test_a_creation_without_an_id_is_of_no_batch_service(
    project: Project, service: StubServer, created: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it may have created is found if it is listed, adopted if not, and never created again."""
    monkeypatch.chdir(project.path)
    service.script_batches(created=created, listed="empty")
    command = options(service, "-p", "no:xdist", "FACTORFAIR_PATIENCE=1", "--factorfair-batch=wait")
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has no batches (it created one without an id)*files:DIR*adopt*forget*"])
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines(UNCONFIRMED)
    if created == "nested":
        service.script_batches(listed="")
    else:
        assert main(["batch", "adopt", STORE, rows(project, "batches")[0]["name"], "batch-0"]) == 0
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    assert service.batches()["lines"] == [LINES]


@pytest.mark.parametrize("listed", ["without an array", pytest.param("names", marks=pytest.mark.slow)])
def test_a_list_without_its_array_is_of_no_batch_service(
    project: Project, service: StubServer, listed: str
) -> None:
    service.script_batches(listed=listed)
    result = project.run(*options(service, "--factorfair-batch=wait"), model="openai/gpt-4o")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has no batches (its list of them has no array of batches)*files:DIR*"])
    assert (service.stats()["requests"], service.batches()["names"]) == (0, [])


@pytest.mark.parametrize(
    "download", ["HTML", "bomb", *(pytest.param(name, marks=pytest.mark.slow) for name in [*DOWNLOADS][1:])]
)
def test_a_download_that_cannot_be_read_is_read_again(
    project: Project, service: StubServer, download: str
) -> None:
    service.script_batches(download=download, bad=1, listed="null")
    command = options(service, "-p", "no:xdist", "--factorfair-batch=wait")
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    statistics, usage = service.batches(), project.report()["usage"]
    assert (statistics["lines"], statistics["downloads"]) == ([LINES], 2)
    assert (usage["completed"], usage["batched"], usage["unreadable"]) == (LINES, LINES, 0)
    assert usage["batch_cost"] == pytest.approx(sum(statistics["ledger"]), abs=1e-9)


@pytest.mark.parametrize(("download", "read"), [("HTML", 0), ("another shape", 0), ("half", LINES // 2)])
def test_what_is_paid_and_not_readable_is_not_paid_again(
    project: Project, service: StubServer, download: str, read: int
) -> None:
    service.script_batches(download=download, bad=10**6)
    command = options(service, "-p", "no:xdist", "--factorfair-batch=leave")
    result = project.run(*command, model="openai/gpt-4o")
    assert result.ret == SUBMITTED
    unreadable = LINES - read
    result.stdout.fnmatch_lines(
        [f"*: {unreadable} of {LINES} lines are paid, not readable: *", "Next: *factorfair batch forget *"]
    )
    statistics, usage = service.batches(), project.report()["usage"]
    assert (statistics["lines"], statistics["downloads"]) == ([LINES], 3)
    assert (usage["completed"], usage["batched"], usage["unreadable"]) == (LINES, read, unreadable)
    billed = sum(statistics["ledger"])
    assert usage["estimated"] == unreadable
    assert usage["batch_cost"] == pytest.approx(billed, rel=0.05) if read else usage["batch_cost"] > billed
    shown = (
        f"{LINES} completed in batches for ${usage['batch_cost']:.2f} ({read} read, {unreadable} unreadable)"
    )
    for name in ("report.md", "report.html"):
        (page,) = project.path.glob(f".factorfair/**/{name}")
        assert shown in page.read_text(encoding="utf-8").replace("\\", "")
    service.script_batches(bad=0)
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    assert service.batches()["lines"] == [LINES]
    assert project.report()["usage"]["unreadable"] == 0


def test_a_few_unreadable_lines_are_asked_again_and_on_the_bill(
    project: Project, service: StubServer
) -> None:
    service.script_batches(download="but 3 lines", bad=10**6)
    command = options(service, "-p", "no:xdist", "--factorfair-batch=wait")
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    statistics, usage = service.batches(), project.report()["usage"]
    assert (statistics["lines"], service.stats()["requests"]) == ([LINES], PILOT + 3)
    assert (usage["completed"], usage["batched"], usage["unreadable"]) == (LINES, LINES - 3, 3)
    assert usage["batch_cost"] == pytest.approx(sum(statistics["ledger"]), rel=0.01)
    assert usage["cost"] == pytest.approx(costs(project) + 3 * usage["batch_cost"] / LINES, rel=0.001)


@pytest.mark.parametrize(
    ("call", "code"),
    [("upload", pytest.ExitCode.INTERRUPTED), ("create", 75), ("poll", 75), ("download", 75)],
)
def test_the_minutes_of_a_run_end_a_call_that_hangs(
    project: Project, service: StubServer, call: str, code: int
) -> None:
    """They pass in the moment in which it hangs, however long the run takes to get there."""
    service.script_batches(hangs=call)
    command = options(service, "-p", "no:xdist", "--factorfair-batch=wait")
    minutes, clock, expiries = 5, LocalLimits.clock, []

    async def expire(limit: asyncio.Timeout) -> None:
        while service.batches()["hung"] != {call: 1}:  # noqa: ASYNC110  # another process
            await asyncio.sleep(0.01)
        limit.reschedule(asyncio.get_running_loop().time())

    def timeout(seconds: float) -> asyncio.Timeout:
        assert 0 < seconds <= 60 * minutes
        limit = asyncio.timeout(None)
        expiries.append(asyncio.ensure_future(expire(limit)))
        return limit

    def later(limits: LocalLimits) -> float:
        return clock(limits) + 60 * minutes * any(expiry.done() for expiry in expiries)

    with (
        mock.patch.object(batching, "asyncio", mock.Mock(wraps=asyncio, timeout=timeout)),
        mock.patch.object(LocalLimits, "clock", later),
    ):
        ended = project.run(*command, f"--factorfair-max-minutes={minutes}", model="openai/gpt-4o")
    assert (ended.ret, len(expiries)) == (code, 1)
    assert service.batches()["hung"] == {call: 1}
    service.script_batches(hangs="")
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    assert len(service.batches()["lines"]) == 1
    assert set(service.batches()["completions"].values()) == {1}


def test_files_are_written_and_replies_are_read(project: Project) -> None:
    """Any engine may answer the file; no key, address or network is needed."""
    command = ("--factorfair-batch=files:offline", "-p", "no:xdist")
    result = project.run(*command, model="hosted_vllm/m")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines([f"factorfair: {ANSWERS} questions are in */offline/*.jsonl; *.output.jsonl"])
    (questions,) = (project.path / "offline").glob("*.jsonl")
    lines = [json.loads(line) for line in questions.read_text().splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines) == ANSWERS
    replies = [json.dumps({"custom_id": line["custom_id"], "text": '{"answer": "B"}'}) for line in lines]
    output = questions.with_name(f"{questions.stem}.output.jsonl")
    output.write_text("\n".join(replies[:-2]) + "\n")
    assert project.run(*command, model="hosted_vllm/m").ret == SUBMITTED
    output.write_text("\n".join(replies[:-2]) + '\n{"custom_id": "elsewhere", "text": "A"}\n')
    foreign = project.run(*command, model="hosted_vllm/m")
    assert (foreign.ret, project.stored()) == (pytest.ExitCode.USAGE_ERROR, 0)
    foreign.stderr.fnmatch_lines([f"*{output.name}:215: custom_id 'elsewhere' is not in {questions.name}"])
    output.write_text("\n".join(replies) + "\n")
    assert project.run(*command, model="hosted_vllm/m").ret == 0
    assert project.stored() == ANSWERS


@pytest.mark.slow
def test_a_whole_release_check_is_one_batch_and_few_requests(
    project: Project, service: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour, by the service's clock: each poll adds its pause."""
    monkeypatch.setattr(batching, "LAST_POLL", 0.1)
    service.script_batches(duration=3600.0, tick=120.0)
    command = options(service, "-p", "no:xdist", "FACTORFAIR_LOOKS=1", "--factorfair-batch=wait")
    assert project.run_pytest(*command, "--factorfair-model=openai/gpt-4o").ret == 0
    statistics = service.batches()
    assert statistics["lines"] == [12_528 - PILOT]
    assert sum(statistics["calls"].values()) <= 40
    usage = project.report()["usage"]
    assert usage["calls"] == 12_528
    assert usage["cost"] == pytest.approx(costs(project), abs=1e-9)


def test_a_batch_is_answered_as_single_calls_are(project: Project, service: StubServer) -> None:
    command = options(service, "-p", "no:xdist")
    assert project.run(*command, "--factorfair-batch=wait", model="openai/gpt-4o").ret == 0
    by_batch = project.report()
    (project.path / STORE).unlink()
    assert project.run(*command, model="openai/gpt-4o").ret == 0
    assert comparable(project.report()) == comparable(by_batch)


def test_a_batch_in_a_folder_is_cancelled(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    command = ("-p", "no:xdist", "--factorfair-batch=files:offline")
    assert project.run(*command, model="hosted_vllm/m").ret == SUBMITTED
    (row,) = rows(project, "batches")
    reply = {"custom_id": rows(project, "batch_items")[0]["key"], "text": "A"}
    (project.path / "offline" / f"{row['name']}.output.jsonl").write_text(json.dumps(reply))
    assert main(["batch", "cancel", STORE, row["name"], "--model=hosted_vllm/m"]) == 0
    result = project.run(*command, model="hosted_vllm/m")
    assert result.ret == SUBMITTED
    result.stdout.fnmatch_lines([f"release: NOT JUDGED: submitted: batch {row['name'][:8]} was cancelled, *"])
    assert project.stored() == 1


def test_a_pilot_on_one_connection_does_not_hang(project: Project, service: StubServer) -> None:
    service.script_batches(duration=100.0)
    result = project.run(
        *options(service, "-p", "no:xdist", "--factorfair-batch=leave", "--factorfair-max-connections=1"),
        model="openai/gpt-4o",
    )
    assert result.ret == SUBMITTED
    assert service.stats()["requests"] == PILOT
