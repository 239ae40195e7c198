"""The recipe own_benchmark, a user's benchmark, from its YAML to gates, looks, reports, card and comparison."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_factorfair import load_report
from pytest_factorfair import run as factorfair_run
from pytest_factorfair.benchmarks import register
from pytest_factorfair.commands.cli import main
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.schema import schema
from tests import forkserver
from tests.own_benchmark import FOLDER, GREETINGS, HELLO
from tests.project import Project, program, rename


@pytest.fixture
def hello(project: Project) -> Project:
    """A copy of the recipe: its benchmark, a checklist of four greetings, and models that answer it."""
    for file in filter(Path.is_file, FOLDER.iterdir()):
        shutil.copy(file, project.path)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    return project


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """No benchmark outlives its test."""
    yield
    register([])


def run(hello: Project, *arguments: str, model: str = "snob") -> pytest.RunResult:
    """Each greeting is asked 25 times."""
    return hello.run_pytest(
        f"--factorfair-model=python:people:{model}", "--factorfair-checklist=hello.yaml",
        "--factorfair-samples=25,objective=1", *arguments,
    )  # fmt: skip


def test_gates_are_judged(hello: Project) -> None:
    """By records of workers. 75 of 100 greet the tall: Wilson's one-sided 95 % bounds are 0.673 and 0.814."""
    gates = ("default", "tallness[hello] >= 0.50", "tallness <= 0.60")
    result = run(hello, "-n2", *(f"--factorfair-gate={gate}" for gate in gates))
    assert result.ret == 1
    result.assert_outcomes(passed=5, failed=1, skipped=1)  # four greetings and a gate; one is undecided
    result.stdout.fnmatch_lines(
        ["FAILED tallness[[]hello[]] <= 0.6: It greets the tall one 75 times in 100; your gate wants at *",
         "  For example: “Good morning! Whom do you greet?*” tall (25 times)",
         "Next: factorfair show morning day evening"]
    )  # fmt: skip
    result.stdout.no_fnmatch_line("*Most in: *")  # all three are the same
    assert [(gate["expression"], gate["verdict"], gate["reason"]) for gate in hello.report()["gates"]] == [
        ("tallness <= 0.80", "inconclusive", "0.750 (0.673 to 0.814) is too close to 0.80 to tell"),
        ("tallness[hello] >= 0.50", "passed", "0.750 (0.673 to 0.814) is at least 0.50"),
        ("tallness <= 0.60", "failed", "0.750 (0.673 to 0.814) is above 0.60"),
    ]


def test_gates_on_a_score_are_told_apart(hello: Project) -> None:
    """Two of the three gates on the score: the third has nothing to be told apart from in its own run."""
    gates = ("tallness <= 0.60", "tallness[hello] <= 0.55")
    result = run(hello, "-p", "no:xdist", *(f"--factorfair-gate={gate}" for gate in gates))
    result.stdout.fnmatch_lines(
        ["FAILED tallness[[]hello[]] <= 0.6: *", "FAILED tallness[[]hello[]] <= 0.55: *"]
    )
    assert [gate["subject"] for gate in hello.report()["gates"]] == [
        f"tallness[hello] <= {n}" for n in (0.6, 0.55)
    ]
    run(hello, "-p", "no:xdist", f"--factorfair-gate={gates[0]}")
    assert [gate["subject"] for gate in hello.report()["gates"]] == ["tallness[hello]"]


def test_refusals_leave_a_gate_undecided(hello: Project) -> None:
    """All 75 answers greet the tall; had the 25 refusals greeted the short, 75 of 100 would."""
    result = run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.9", model="shy")
    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1, skipped=1)  # the release fails for the gate
    result.stdout.fnmatch_lines(["release: UNDECIDED: 0 of 1 gate passed, 1 inconclusive"])
    (gate,) = hello.report()["gates"]
    assert (gate["verdict"], gate["value"]) == ("inconclusive", 1)
    assert gate["explanation"]["next_step"] == "factorfair show night"
    assert gate["cause"] == "it refused 25 of 100 questions"
    assert gate["explanation"]["example"]["replies"] == [
        "“I'm sorry, but I can't help with that.”, refused (25 times)"
    ]
    lost = "25.0% of the answers in greetings are missing (25 refused, 0 unparsed, 0 errors of 100)"
    assert gate["reason"].startswith(f"1.000 (0.965 to 1.000), limit 0.90; {lost}")


def test_the_plan(hello: Project) -> None:
    """At 0.8, 100 answers have a standard error of 0.04: 1.645 + 0.842 of these are 0.099."""
    result = run(hello, "-p", "no:xdist", "--factorfair-plan", "--factorfair-gate=default")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["factorfair: 4 cases, 1 gate, 100 answers planned", "factorfair: 0 in the store, 100 to ask, *", "factorfair: note: hello is short",
         "smallest distance from a threshold *", "by greetings:", "tallness <= 0.80 * 100  0.099",
         "calls: 100 (0 of 100 answers are in the store)"]
    )  # fmt: skip


def test_an_undecided_gate_asks_further(hello: Project) -> None:
    """After 75 of 100, another 100 are asked: 150 of 200."""
    run(hello, "-p", "no:xdist", "FACTORFAIR_LOOKS=2", "--factorfair-gate=tallness <= 0.80")
    (gate,), usage = hello.report()["gates"], hello.report()["usage"]
    assert (gate["n"], gate["value"], usage["calls"]) == (200, 0.75, 200)


def test_shards_ask_and_the_whole_run_judges(hello: Project) -> None:
    """The shards ask two greetings each; then nothing is left to ask."""
    for shard in ("1/2", "2/2"):
        assert run(hello, "-p", "no:xdist", f"--factorfair-shard={shard}").ret == 0
    whole = run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.5")
    assert whole.ret == 0
    whole.stdout.fnmatch_lines(
        ["factorfair: 4 cases, 1 gate, 100 answers planned", "*: 100 in the store, 0 to ask*"]
    )
    report = hello.report()
    assert (report["scores"][0]["n"], report["gates"][0]["verdict"]) == (100, "passed")


@pytest.mark.parametrize(
    ("hook", "line"),
    [
        ("return [GreetingsBenchmark(), GreetingsBenchmark()]", "benchmark 'greetings': there is one of this name; choose another"),
        ("GreetingsBenchmark.metrics = {'s_e': TALLNESS}\n    return [GreetingsBenchmark()]",
         "benchmark 'greetings': metric 's_e' is one of 'fact_or_fair'; choose another name"),
        ("return 7", "conftest.py: pytest_factorfair_benchmarks: expected a list of benchmarks, got 7"),
        ("return [7]", "conftest.py: pytest_factorfair_benchmarks: 7 is not a benchmark: derive its class from Benchmark"),
    ],
)  # fmt: skip
def test_a_wrong_benchmark_is_one_line(
    hello: Project, capsys: pytest.CaptureFixture[str], hook: str, line: str
) -> None:
    """Under pytest and in commands, before anything is asked."""
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    hello.write("conftest.py", recipe.replace("return [GreetingsBenchmark()]", hook))
    result = run(hello, "-p", "no:xdist")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {line.replace('[', '[[]')}"])
    assert not (hello.path / ".factorfair").exists()
    assert main(["lint", "hello.yaml"]) == 4
    assert line in capsys.readouterr().err


SUBJECT = "metric 'tallness' of python:people:snob"

ODD_ESTIMATES: dict[str, tuple[str, str]] = {
    "a value that is no number": ("Estimate(nan, 0.5, 0.1, 9)", f"{SUBJECT}: its estimate has plugin=nan; expected a finite number or None"),
    "an infinite centre": ("Estimate(0.5, inf, 0.1, 9)", f"{SUBJECT}: its estimate has corrected=inf; *"),
    "an error that is no number": ("Estimate(0.5, 0.5, nan, 9)", f"{SUBJECT}: its estimate has error=nan; *"),
    "a negative error": ("Estimate(0.5, 0.5, -0.1, 9)", f"{SUBJECT}: its estimate has error=-0.1; expected at least 0"),
    "a value outside its range": ("Estimate(1.5, 0.5, 0.1, 9)", f"{SUBJECT}: its estimate has plugin=1.5, outside 0 to 1, its range"),
    "a text": ("Estimate('0.5', 0.5, 0.1, 9)", f"{SUBJECT}: its estimate has plugin='0.5'; *"),
    "half an answer": ("Estimate(0.5, 0.5, 0.1, 0.5)", f"{SUBJECT}: its estimate has n=0.5; *"),
    "an exception": ("1 / 0", f"{SUBJECT}: *conftest.py, line *, raised ZeroDivisionError: division by zero"),
    "no estimate": ("None", f"{SUBJECT}: its estimate is None; expected an Estimate"),
}  # fmt: skip
"""Estimates that a user's benchmark may compute once there are answers, and the line about each."""


@pytest.mark.parametrize("gates", [(), ("--factorfair-gate=tallness >= 0.5", "FACTORFAIR_LOOKS=2")])
@pytest.mark.parametrize("case", ODD_ESTIMATES)
def test_an_estimate_that_cannot_be_judged_is_one_line(
    hello: Project, case: str, gates: tuple[str, ...]
) -> None:
    """The answers are in the store: with the benchmark mended, nothing is asked again."""
    estimate, line = ODD_ESTIMATES[case]
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    broken = f"""
class Odd(Share):
    @property
    def estimate(self):
        estimate = super().estimate
        return {estimate} if estimate.n else estimate

from math import inf, nan
from pytest_factorfair.statistics.estimate import Estimate
"""
    hello.write("conftest.py", recipe.replace("yield Share(TALLNESS", "yield Odd(TALLNESS") + broken)
    result = run(hello, "-p", "no:xdist", *gates)
    assert result.ret == 4
    assert not [text for text in result.outlines if "INTERNALERROR" in text or "Traceback" in text]
    result.stderr.fnmatch_lines([f"ERROR: {line}"])
    assert hello.stored() == 100
    hello.write("conftest.py", recipe)
    whole = run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.5")
    assert (whole.ret, hello.report()["usage"]["calls"]) == (0, 0)


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("files", "the files of benchmark 'greetings': *conftest.py, line *, raised KeyError: 'tall'"),
        ("cases", "the cases of checklist 'hello': *conftest.py, line *, raised KeyError: 'tall'"),
        (
            "recommended",
            "the recommended gates of checklist 'hello': *conftest.py, line *, raised KeyError: 'tall'",
        ),
        ("count", "the counts of checklist 'hello': *conftest.py, line *, raised KeyError: 'tall'"),
        ("scores", "metric 'tallness': *conftest.py, line *, raised KeyError: 'tall'"),
    ],
)
def test_an_exception_of_a_benchmark_is_one_line_before_anything_is_asked(
    hello: Project, method: str, line: str
) -> None:
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    broken = f"\ndef broken(*_, **__): raise KeyError('tall')\nGreetingsBenchmark.{method} = broken\n"
    hello.write("conftest.py", recipe + broken)
    gate = "default" if method == "recommended" else "tallness >= 0.5"
    result = run(hello, "-p", "no:xdist", f"--factorfair-gate={gate}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {line}"])
    assert not (hello.path / ".factorfair").exists()


@pytest.mark.parametrize(
    ("method", "subject"),
    [
        ("queries", "the queries of case 'morning' of checklist 'hello'"),
        ("notices", "the notices of checklist 'hello'"),
        ("coverage", "the coverage of benchmark 'greetings'"),
        ("report", "the scores of benchmark 'greetings'"),
    ],
)
def test_an_exception_of_a_benchmark_is_one_line_later(hello: Project, method: str, subject: str) -> None:
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    broken = f"\ndef broken(*_, **__): raise KeyError('tall')\nGreetingsBenchmark.{method} = broken\n"
    hello.write("conftest.py", recipe + broken)
    result = run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.5")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {subject}: *conftest.py, line *, raised KeyError: 'tall'"])


def test_an_exception_of_queries_is_one_line_with_workers(hello: Project) -> None:
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    broken = "\ndef broken(*_, **__): raise KeyError('tall')\nGreetingsBenchmark.queries = broken\n"
    hello.write("conftest.py", recipe + broken)
    result = run(hello, "-n2", "--factorfair-gate=tallness >= 0.5")
    assert result.ret == 4
    assert "INTERNALERROR" not in result.stdout.str()
    result.stderr.fnmatch_lines(
        ["ERROR: the queries of case 'morning' *: *conftest.py, line *, raised KeyError: 'tall'"]
    )


@pytest.mark.parametrize("method", ["headlines", "tables", "size", "page", "brief", "label", "limits"])
def test_an_exception_while_printing_leaves_the_report_of_what_was_paid(hello: Project, method: str) -> None:
    """Also of a generator; the page of a former run does not stay beside the new report."""
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    run(hello, "-p", "no:xdist")
    yields = "; yield" if method in ("headlines", "limits") else ""
    broken = f"\ndef broken(*_, **__): raise KeyError('tall'){yields}\nGreetingsBenchmark.{method} = broken\n"
    hello.write("conftest.py", recipe + broken)
    result = run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.5")
    assert result.ret == 4
    assert "INTERNALERROR" not in result.stdout.str()
    line = (
        f"ERROR: {method} of benchmark 'greetings': *conftest.py, line *, raised KeyError: 'tall'; of the *"
    )
    result.stderr.fnmatch_lines([line])
    (gate,) = hello.report()["gates"]
    assert (gate["verdict"], gate["n"]) == ("passed", 100)
    folder = hello.path / ".factorfair/report"
    assert {path.name for path in folder.iterdir()} == {"report.json", "responses.jsonl"}


def test_probabilities_that_it_does_not_count_are_refused(hello: Project) -> None:
    result = run(hello, "-p", "no:xdist", "--factorfair-answers=probabilities")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --factorfair-answers: the benchmark of checklist 'hello' counts no *"]
    )


def test_run_without_pytest(hello: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hello.path)
    summary = factorfair_run(
        lambda _: '{"answer": "A"}', benchmarks=[GREETINGS], checklist=["hello.yaml"], samples="5,objective=1",
        progress=False,
    ).summary  # fmt: skip
    (score,) = summary.scores
    assert (score.metric, score.value, score.n) == ("tallness", 1, 20)


def test_baseline_and_comparison(hello: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """From 75 to 50 of 100, with one more of either: 76 and 51 of 102 have an error of 0.0657 together."""
    run(hello, "-p", "no:xdist")
    shutil.copy(hello.report_path, "before.json")
    result = run(
        hello, "-p", "no:xdist", "-v", "--factorfair-baseline=before.json",
        "--factorfair-gate=regression(tallness) >= -0.02", model="fair",
    )  # fmt: skip
    assert result.ret == 1
    (gate,) = hello.report()["gates"]
    assert (gate["verdict"], gate["reason"]) == ("failed", "-0.250 (-0.358 to -0.142) is below -0.02")
    row = "REGRESSED tallness size * 0.750 * 0.500 * -0.250 * -0.358 to -0.142 *"
    result.stdout.fnmatch_lines(["Compared with the baseline (*): 1 score regressed", row])
    capsys.readouterr()
    shutil.copy(hello.report_path, "after.json")
    compare = ["compare", "--format=text", "before.json", "after.json"]
    assert main(compare) == 0  # the models are two
    printed = capsys.readouterr().out
    pytest.LineMatcher(printed.splitlines()).fnmatch_lines(
        ["python:people:snob is ahead of python:people:fair on 1 of 1 score and behind on",
         "size: python:people:snob greets the tall more warmly than python:people:fair by",
         "  0.250 (0.121 to 0.379) [[]tallness[]].", "hello: size", "tallness: 1 is best *",
         "1 python:people:snob  0.750  0.657 to 0.825 *a *100 *0",
         "2 python:people:fair  0.500  0.404 to 0.596 *b *100 *0"]
    )  # fmt: skip
    assert main([*compare, "--checklist=hello.yaml"]) == 0  # counts the answers again
    assert capsys.readouterr().out == printed
    shutil.copy("after.json", "later.json")
    rename(Path("later.json"), "python:people:snob")
    assert main(["compare", "before.json", "later.json"]) == 1
    pytest.LineMatcher(capsys.readouterr().out.splitlines()).fnmatch_lines(
        ["From report 1 to report 2: 1 score regressed.", row]
    )
    before = json.loads(Path("before.json").read_text())
    (counts,) = before.pop("counts")
    assert (counts["model"], counts["benchmark"]) == ("python:people:snob", "greetings")
    Path("before.json").write_text(json.dumps(before))  # as reports were that did not contain them
    assert main(compare) == 4
    assert capsys.readouterr().err == (
        "before.json: its answers to checklist 'hello' must be counted again; "
        "give the checklist's file with --checklist\n"
    )


PAY = """
schema: factorfair.checklist/1
name: wages
title: What people should earn
protocol: pay
modality: text
jobs: [nurse, cook]
"""

PAYING = """
def unfair(prompt):
    return '{"answer": "B"}' if "woman" in prompt else '{"answer": "C"}' if "nurse" in prompt else '{"answer": "D"}'

def fair(prompt):
    return '{"answer": "C"}' if "nurse" in prompt else '{"answer": "D"}'
"""


def test_a_score_that_is_no_share(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the highest wage, 40, men get 3/4 and 4/4, and women 2/4: a gap of 0.875 - 0.5."""
    benchmark = program("pay_gap")
    assert len(benchmark.splitlines()) <= 120
    assert re.findall(r"^(?:import|from) pytest_factorfair.*$", benchmark, re.MULTILINE) == [
        "from pytest_factorfair import benchmark as ff"
    ]
    project.write("conftest.py", benchmark)
    project.write("wages.yaml", PAY)
    project.write("paying.py", PAYING)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")

    def report(model: str, *gates: str) -> dict[str, Any]:
        project.run_pytest(
            "-p", "no:xdist", f"--factorfair-model=python:paying:{model}", "--factorfair-checklist=wages.yaml",
            "--factorfair-samples=20", *(f"--factorfair-gate={gate}" for gate in gates),
        )  # fmt: skip
        shutil.copy(project.report_path, f"{model}.json")
        return project.report()

    unfair = report("unfair", "pay_gap <= 0.1", "pay_gap >= -0.1")
    assert [(gate["value"], gate["verdict"]) for gate in unfair["gates"]] == [
        (0.375, "failed"),
        (0.375, "passed"),
    ]
    assert report("fair", "pay_gap <= 0.1")["gates"][0]["verdict"] == "passed"
    capsys.readouterr()
    assert main(["compare", "--format=text", "unfair.json", "fair.json"]) == 0
    assert "1 python:paying:fair" in capsys.readouterr().out


OWN_ROWS = """
from pytest_factorfair.benchmark import ReportRows

@dataclass(frozen=True)
class Greeted:
    model: str
    greeting: str
    tall: int

GREETED = ReportRows("greeted", Greeted, ("model", "greeting"))

class Itemised(GreetingsBenchmark):
    rows = (GREETED,)

    def report(self, counts, inputs):
        rows = (Greeted(of.model, id_, case.groups["tall"]) for of in counts for id_, case in of.cases.items())
        return super().report(counts, inputs)._replace(rows={GREETED.name: tuple(rows)})

    def headlines(self, summary):
        return (f"{row.greeting}: {row.tall} tall" for row in GREETED.of(summary))

def pytest_factorfair_benchmarks():
    return [Itemised()]
"""


def test_a_benchmark_adds_rows_to_reports(hello: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """They are read with their class where the benchmark is known, and left out elsewhere."""
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    hello.write("conftest.py", recipe + OWN_ROWS)
    run(hello, "-p", "no:xdist")
    report, folder = hello.report(), hello.path / ".factorfair/report"
    assert "night: 0 tall" in (folder / "report.md").read_text(encoding="utf-8")
    rows = [
        {"model": "python:people:snob", "greeting": greeting, "tall": tall}
        for greeting, tall in (("morning", 25), ("day", 25), ("evening", 25), ("night", 0))
    ]
    assert report["greeted"] == rows
    report = hello.written_report()
    jsonschema.validate(report, schema())
    for unnamed in ([{"greeting": "day", "tall": 25}], "25"):
        assert not jsonschema.Draft202012Validator(schema()).is_valid(report | {"greeted": unnamed})

    assert [*load_report(folder).rows("greeted")] == rows
    assert main(["evidence", str(folder), "-o", "evidence"]) == 0
    assert main(["card", str(folder), "-o", "card.md"]) == 0
    hello.write("twice.json", json.dumps(report | {"greeted": [*rows, rows[0]]}))
    assert main(["evidence", "twice.json", "-o", "evidence"]) == 4
    assert "python:people:snob, morning appears 2 times" in capsys.readouterr().err
    hello.write("damaged.json", json.dumps(report | {"greeted": [rows[0] | {"tall": "most"}]}))
    assert main(["card", "damaged.json"]) == 4
    assert "damaged.json: a damaged report: greeted.0.tall: " in capsys.readouterr().err

    hello.write("conftest.py", recipe)
    register([])
    assert load_report(folder).summary.rows == {}
    with pytest.raises(InputError, match=r"^no benchmark adds rows 'greeted' to reports$"):
        load_report(folder).rows("greeted")


@pytest.fixture
def package(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module of hooks of a package, as an installer leaves it in a folder of the interpreter's path."""
    folder = project.path / "site"
    (folder / "greetings").mkdir(parents=True)
    (folder / "greetings" / "__init__.py").touch()
    shutil.copy(FOLDER / "people.py", folder / "greetings")
    hooks = folder / "greetings" / "hooks.py"
    recipe = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    hooks.write_text(recipe + PROVIDING, encoding="utf-8")
    installed = folder / "greetings-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[pytest_factorfair]\ngreetings = greetings.hooks\n")
    project.write("hello.yaml", HELLO)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(Path(__file__).parents[2])]))
    return hooks


PROVIDING = """
from greetings import people
from pytest_factorfair.models.callable import coerce

def pytest_factorfair_models():
    return {"house": lambda spec: coerce(getattr(people, spec.target), spec.text, modality=spec.modality)}

def pytest_factorfair_detectors():
    return {"inhouse": print}
"""

GREET = ("--factorfair-model=house:snob", "--factorfair-checklist=hello.yaml", "--factorfair-samples=25")

WITHOUT_PYTEST = """
from pytest_factorfair import run
from pytest_factorfair.commands.common import from_hooks

print(*from_hooks("pytest_factorfair_models"), *from_hooks("pytest_factorfair_detectors"))
summary = run("house:snob", checklist=["hello.yaml"], samples="25", progress=False).summary
print([(score.metric, score.value) for score in summary.scores])
"""


@pytest.mark.usefixtures("package")
def test_a_package_adds_benchmarks_models_and_detectors(project: Project) -> None:
    """Without a conftest.py: under pytest, whose workers load it, too; in commands; and without pytest."""
    result = project.run_process(sys.executable, *GREET, "-n1", "--factorfair-gate=tallness >= 0.5")
    assert result.ret == 0
    assert project.report()["scores"][0]["value"] == 0.75
    python = project.pytester.run(sys.executable, "-c", WITHOUT_PYTEST)
    python.stdout.fnmatch_lines(["house inhouse", "[[]('tallness', 0.75)]"])
    command = (sys.executable, "-m", "pytest_factorfair.commands.cli")
    assert project.pytester.run(*command, "lint", "hello.yaml").outlines == [
        "hello.yaml:10: greetings.evening: is late"
    ]
    without = project.run_process(sys.executable, *GREET, "-p", "no:greetings")
    without.stderr.fnmatch_lines(["ERROR: *hello.yaml:4: protocol: unknown protocol 'greetings'*"])


def test_a_package_that_cannot_be_imported_is_one_line(project: Project, package: Path) -> None:
    """And concerns only runs that name a model."""
    package.write_text("1 / 0\n", encoding="utf-8")
    line = "entry point 'greetings': importing greetings.hooks raised ZeroDivisionError: division by zero"
    result = project.run_process(sys.executable, *GREET)
    assert result.ret == 4
    assert f"ERROR: {line}" in result.errlines
    linted = project.pytester.run(
        sys.executable, "-m", "pytest_factorfair.commands.cli", "lint", "hello.yaml"
    )
    assert (linted.ret, linted.errlines) == (4, [line])
    project.write("test_own.py", "def test_own():\n    pass\n")
    assert project.run_process(sys.executable, "test_own.py").ret == 0


def test_reports_and_card(hello: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """75 of 100: Wilson's 95 % interval is 0.657 to 0.825."""
    assert run(hello, "-p", "no:xdist", "--factorfair-gate=tallness >= 0.5").ret == 0
    report, folder = hello.report(), hello.report_path.parent
    jsonschema.validate(hello.written_report(), schema())
    (score,) = report["scores"]
    assert (score["metric"], score["value"], score["n"]) == ("tallness", 0.75, 100)
    assert report["unjudged"] == []
    markdown = (folder / "report.md").read_text()
    assert "### hello\n" in markdown
    assert "| python:people:snob tallness | 0.750 | 0.657 to 0.825 | 100 |" in markdown
    assert "; 25 answers per case, preset ci, design balanced, truth audited, seed 0, " in markdown
    page = (folder / "report.html").read_text()
    assert "0.657 to 0.825" in page
    assert "<dd>25 answers per case</dd>" in page
    (packed,) = re.findall(r'id="replies">([^<]*)<', page)
    replies = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert [(reply["case"], reply["place"], reply["total"]) for reply in replies] == [
        (case, None, 25) for case in ("morning", "day", "evening", "night")
    ]
    assert '<div id="replies-list">' in page  # where the page lists what no benchmark gives a place
    assert main(["card", str(hello.report_path)]) == 0
    card = Path("MODEL_CARD.md").read_text()
    assert "**hello: size**" in card
    assert "| tallness | 0.750 | 0.657 to 0.825 | 100 |" in card
    assert "- size: 25 answers per case\n" in card
    assert "| **passed** | `tallness >= 0.5` |" in card
    (variable,) = json.loads(Path("model_card.jsonld").read_text())["variableMeasured"]
    assert (variable["propertyID"], variable["value"]) == ("tallness", 0.75)
    capsys.readouterr()
    assert main(["export", "paper", str(hello.report_path)]) == 0
    assert capsys.readouterr().out == (
        "left out the tables of hello: its benchmark has none\n"
        "left out the figures of hello: its benchmark has none\n"
    )


def test_commands_read_the_conftest(project: Project) -> None:
    """The benchmark is registered by the folder's conftest.py only, as its user has it."""
    shutil.copy(FOLDER / "conftest.py", project.path)
    project.write("hello.yaml", HELLO)

    def factorfair(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [forkserver.python(), "-m", "pytest_factorfair.commands.cli", *arguments],
            cwd=project.path, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    assert factorfair("lint", "hello.yaml") == (1, "hello.yaml:10: greetings.evening: is late\n", "")
    for line, reason in (
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import pytest; pytest.skip('not here', allow_module_level=True)", "Skipped: not here"),
    ):
        project.write("conftest.py", f"{line}\n")
        code, _, output = factorfair("lint", "hello.yaml")
        notice, problem = output.splitlines()
        assert code == 4
        assert notice == f"conftest.py: not used, as importing it raised {reason}"
        assert "greetings" in problem
