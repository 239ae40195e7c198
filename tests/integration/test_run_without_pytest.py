"""``pytest_factorfair.run``: what the pytest command does, from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair import load_report, run
from pytest_factorfair.domain import Query, Reading, Request, Response
from pytest_factorfair.errors import BudgetError, FatalModelError, InputError, StoreError
from pytest_factorfair.runs.progress import Progress
from pytest_factorfair.store import Store
from tests.project import Project

ANSWERS = 216  # 6 objective cases of 4 answers, 8 subjective ones of 24
SIZES: dict[str, Any] = {"checklist": ["small.yaml"], "samples": "24,objective=4", "estimator": "plugin"}


def first(_prompt: str) -> str:
    return '{"answer": "A"}'


class Service:
    """A model of the user's own, which counts what it is asked."""

    endpoint, parallel, identity = "house", None, {"provider": "house"}

    def __init__(self, *, fails_after: int = 1_000_000) -> None:
        self.asked = 0
        self.fails_after = fails_after

    async def ask(self, _: Request) -> Response:
        self.asked += 1
        if self.asked > self.fails_after:
            raise FatalModelError("house: the key was refused")
        return Response("CHOICE=A", cost=0.0)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(autouse=True)
def folder(project: Project) -> Path:
    """The current folder, with the small checklist in it."""
    return project.path


def report(folder: str) -> object:
    return json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))


def test_same_results_as_the_pytest_command(project: Project) -> None:
    """Looks and reasons included; whichever comes second asks nothing, as the store has it all."""
    project.write("pyproject.toml", '[tool.factorfair]\ngate = ["default"]\nlooks = 2\nexplain = true\n')
    model = "sim:stereotyped?strength=0.3"
    done = project.run("-p", "no:xdist", model=model)
    assert done.ret == 1
    before = report(".factorfair/report")
    summary = run(model, **SIZES, report="second").summary
    text = Path("second", "report.json").read_text(encoding="utf-8")
    after = json.loads(text.replace("factorfair show second ", "factorfair show "))
    assert list(differences(before, after)) == []
    assert summary.usage.calls == 0
    assert summary.usage.cached > ANSWERS
    assert summary.reasons
    assert {gate.judgement for gate in summary.gates} >= {"passed", "failed"}


def test_inside_a_running_loop_and_without_pytest(folder: Path) -> None:
    code = f"""
import asyncio, sys
from pytest_factorfair import run

async def notebook():
    return run("sim:uniform", **{SIZES!r})

print(len(asyncio.run(notebook()).summary.scores) > 0, [name for name in ("pytest", "_pytest") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("True []\n", "")


def test_objects_of_the_user() -> None:
    """A mapping names what it holds; a reader reads the replies."""
    service = Service()
    seen: list[Progress] = []

    def read(response: Response, _: Query) -> Reading | None:
        named = response.text.startswith("CHOICE=")
        return Reading("answered", letter=response.text[-1]) if named else None

    summary = run({"house": service, "other": first}, read_answer=read, progress=seen.append, **SIZES).summary
    assert list(summary.fingerprint.models) == ["house", "other"]
    assert service.asked == ANSWERS
    outcomes = [answer.outcome for record in summary.cases for answer in record.answers]
    assert outcomes == ["answered"] * 2 * ANSWERS
    assert (seen[-1].answers, seen[-1].total) == (2 * ANSWERS, 2 * ANSWERS)


def test_a_changed_function_is_asked_again() -> None:
    """As in a notebook: there is no file whose change would show."""

    def typed(letter: str) -> object:
        scope: dict[str, object] = {"__name__": "__main__"}
        exec(f"def answer(prompt):\n    return '{letter}'", scope)  # noqa: S102  # a function without a file
        return scope["answer"]

    assert run(typed("A"), **SIZES).summary.usage.calls == ANSWERS
    assert run(typed("B"), **SIZES).summary.usage.calls == ANSWERS
    assert run(typed("A"), **SIZES).summary.usage.cached == ANSWERS


@pytest.mark.parametrize("model", [None, [], (), {}])
def test_no_model_at_all_is_wrong_input(model: object) -> None:
    with pytest.raises(
        InputError, match=r"^run\(model\): expected a spec, a model or a function of the prompt"
    ):
        run(model)


def test_a_model_named_twice_is_wrong_input() -> None:
    with pytest.raises(InputError, match=r"^run\(model\): 'sim:ideal' is named twice: name it once$"):
        run(["sim:ideal", "sim:uniform", "sim:ideal"], **SIZES)
    with pytest.raises(InputError, match=r"^run: python:\S+:first is named twice: name it once$"):
        run([first, first], **SIZES)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"checklists": "small.yaml"}, "run(checklists=...): there is no such setting; did you mean 'checklist'?"),
        ({"preset": "cii"}, "run(preset=...): unknown value 'cii'; did you mean 'ci'?"),
        ({"max_calls": 0}, "run(max_calls=...): expected a whole number of at least 1, got '0'"),
        ({"looks": 5}, "run(looks=...): expected a whole number from 1 to 4, got '5'"),
        ({"report": "/proc/here"}, "run(report=...) /proc/here: cannot write there: "),
        ({"reuse": "7"}, "run(reuse=...): expected all, none, only, or an age such as 12h, 7d or 2w, got '7'"),
        ({"detector_errors": "e.json"}, "run(detector_errors=...) {folder}/e.json: checklist 'small' asks language models"),
        ({"gate": ["s_fct >= 1"]}, "did you mean 's_fact'?"),
        ({"plan": True}, "run(plan=...): run() asks the model; plan with pytest"),
        ({"detector": object()}, "run(detector=...) python:builtins:object: a detector reads pictures"),
        ({"detector": []}, "run(detector=...): expected one spec or detector, got []"),
        ({"detector": ["sim", "fairface:x"]}, "run(detector=...): expected one spec or detector, got ['sim', 'fairface:x']"),
        ({"progress": 3}, "run(progress=...): expected a function, got 3"),
        ({"read_answer": "no"}, "run(read_answer=...): expected a function, got 'no'"),
        ({"baseline": "nope"}, "run(baseline=...) {folder}/nope: No such file or directory"),
        (
            {"samples": 24, "gate": ["s_e[base] >= 0.9"], "looks": 1},
            "s_e[base,gender] and 1 more gate need more answers: samples=72",
        ),
        (
            {"samples": "24,objective=8", "gate": ["s_fact >= 0.4", "s_e[base] >= 0.9"], "looks": 1},
            's_fact[objective,gender] and 3 more gates need more answers: samples="72,objective=24"',
        ),
        ({"samples": "images=4"}, "run(samples=...): checklist 'small' asks for text; give N or objective=N"),
    ],
)  # fmt: skip
def test_wrong_settings_ask_nothing(settings: dict[str, Any], line: str, folder: Path) -> None:
    service = Service()
    with pytest.raises(InputError) as raised:
        run(service, **{"checklist": "small.yaml", **settings})
    assert line.replace("{folder}", str(folder)) in str(raised.value)
    assert service.asked == 0
    assert not (folder / ".factorfair" / "report" / "report.json").exists()


def test_an_empty_store_cannot_be_replayed(folder: Path) -> None:
    Store.open(f"sqlite:///{folder}/empty.sqlite").close()
    with pytest.raises(InputError) as raised:
        run("sim:uniform", store="sqlite:///empty.sqlite", reuse="only", **SIZES)
    assert str(raised.value).startswith("run(reuse=...): ")


def test_advice_names_settings_as_python_does() -> None:
    undecided: dict[str, Any] = {
        "checklist": "small.yaml", "samples": "72,objective=24", "gate": ["s_e[base] >= 0.998"]
    }  # fmt: skip
    once = run("sim:ideal", **undecided, looks=1).summary.release
    assert once is not None
    assert once.advice == "Do not ship it yet: looks=1 allows no second look."
    assert once.next_step == "leave looks out: undecided gates then ask for more answers"
    stored = run("sim:ideal", **undecided, looks=2, reuse="only").summary.release
    assert stored is not None
    assert stored.advice == "Do not ship it yet: the store has no answers for another look."
    assert stored.next_step == 'to ask for them, run it again without reuse="only"'


def test_a_used_up_limit_keeps_what_was_answered(folder: Path) -> None:
    """A function is named as on the command line."""
    with pytest.raises(BudgetError) as raised:
        run(first, max_calls=20, gate=["unparsed_rate <= 0.05"], **SIZES)
    assert "partial report" in "".join(raised.value.__notes__)
    partial = json.loads((folder / ".factorfair/report/report.json").read_text(encoding="utf-8"))
    assert {gate["verdict"] for gate in partial["gates"]} == {"not judged"}
    summary = run(first, **SIZES).summary
    assert (summary.usage.calls, summary.usage.cached) == (ANSWERS - 20, 20)
    assert list(summary.fingerprint.models) == [f"python:{__name__}:first"]


def test_what_stops_a_run_is_raised() -> None:
    with pytest.raises(FatalModelError, match="house: the key was refused"):
        run({"house": Service(fails_after=20)}, max_connections=1, **SIZES)
    assert run({"house": Service()}, **SIZES).summary.usage.cached == 20


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyboardInterrupt(), "the run was interrupted"),
        (KeyboardInterrupt("ended by SIGTERM"), "ended by SIGTERM"),
        (ValueError("a mistake of the user's function"), "the run was interrupted"),
    ],
)
def test_a_partial_report_says_what_stopped_the_run(error: BaseException, why: str, folder: Path) -> None:
    """A signal by its name, as in a pytest run."""

    def read(_response: Response, _query: Query) -> Reading:
        raise error

    with pytest.raises(type(error)):
        run({"other": first}, read_answer=read, **SIZES)
    partial = json.loads((folder / ".factorfair/report/report.json").read_text(encoding="utf-8"))
    assert partial["incomplete"] == f"{why}: 14 of 14 cases are missing"


def test_reports_that_cannot_be_written(folder: Path) -> None:
    """The folder goes while the model is asked; the answers stay."""

    def answer(_prompt: str) -> str:
        reports = folder / "reports"
        if reports.is_dir():
            reports.rmdir()
            reports.write_text("in the way", encoding="utf-8")
        return '{"answer": "A"}'

    with pytest.raises(StoreError, match=r"the reports could not be written.*; the answers are in the store"):
        run({"house": answer}, report="reports", **SIZES)


def test_a_notebook_displays_what_a_run_returns(folder: Path) -> None:
    """A report like that of ``load_report``: short as text, with the verdict and tables as HTML."""
    returned = run("sim:ideal", gate=["s_fact[objective,gender] >= 0.8"], **SIZES)
    assert repr(returned).startswith("Report(sim:ideal: PASS: 1 gate passed")
    assert len(repr(returned)) < 200
    shown = returned._repr_html_()
    assert "PASS: 1 gate passed; " in shown
    assert shown.count("<table>") > 0
    assert len(returned.replies) == ANSWERS
    assert load_report(folder / ".factorfair/report").summary.gates == returned.summary.gates
