"""``factorfair show``: the questions of a case with their replies, from a report alone."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from tests.finished import IDEAL, Finished
from tests.project import Project

CASE = "objective-tea_rate-gender-highest"
"""Asked 24 times; the true answer is Female."""


@pytest.fixture
def ran(project: Project, finished: Finished, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the report of an ideal model, and without its store."""
    monkeypatch.chdir(project.path)
    shutil.copytree(finished(*IDEAL), project.report_path.parent)
    return project


def test_the_next_step_of_a_failure_can_be_pasted(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    result = project.run("-p", "no:xdist", "--factorfair-gate=s_e[base,gender] >= 0.99")
    (step,) = (line for line in result.outlines if line.startswith("Next: "))
    factorfair, *arguments = shlex.split(step.removeprefix("Next: "))
    assert factorfair == "factorfair"
    capsys.readouterr()
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    heads = re.findall(r"^(\S+) \(sim:stereotyped on small\)$", shown, re.MULTILINE)
    assert heads
    assert {head.rpartition("-")[0] for head in heads} == set(arguments[1:])


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("report", [(), (".factorfair/report",), (".factorfair/report/report.json",)])
def test_a_case_is_shown_with_its_counts_and_some_replies(
    capsys: pytest.CaptureFixture[str], report: tuple[str, ...]
) -> None:
    assert main(["show", *report, CASE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{CASE} (sim:ideal on small)", "Female: 24"]
    assert sum("Reply with exactly" in line for line in lines) <= 5
    replies = [line for line in lines if line.startswith("  -> ")]
    assert len(replies) == 5
    assert all(re.fullmatch(r'  -> \{"answer": "[AB]"\}  \[Female\]', reply) for reply in replies)
    assert "  19 more: -n 0" in lines


@pytest.mark.usefixtures("ran")
def test_all_replies_of_the_cases_whose_ids_begin_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "-n", "0", "objective-tea_rate-gender"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  -> ") == 2 * 24
    assert "more: -n 0" not in out


def test_replies_without_an_answer_come_first(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    project.run("-p", "no:xdist", model="sim:ideal?nonsense=0.2")
    lost = {
        case["case"]: sum(answer["outcome"] == "unparsed" for answer in case["answers"])
        for case in project.report()["cases"]
    }
    case = next(case for case, count in lost.items() if 0 < count < 4)
    capsys.readouterr()
    assert main(["show", case]) == 0
    first, *_ = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  -> "))
    assert first.endswith("[unparsed (names no option)]")


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["objective-tea_rate-gender-higest"],
            f".factorfair/report: it has no case 'objective-tea_rate-gender-higest'; did you mean '{CASE}'?",
        ),
        (["objective-tea"], ".factorfair/report: it has no case 'objective-tea'"),
        ([".factorfair/report"], ".factorfair/report: name a case of it to show, or the beginning of its id"),
        (["none.json", CASE], "none.json: its replies are in responses.jsonl, which is missing"),
        (["-n", "-1", CASE], "-n: expected 0 or more, got -1"),
    ],
)
def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert main(["show", *arguments]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1


@pytest.mark.usefixtures("ran")
def test_the_store_is_not_needed() -> None:
    assert not Path(".factorfair/responses.sqlite").exists()
    assert main(["show", CASE]) == 0
