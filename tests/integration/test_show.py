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
    assert re.findall(r"^(\S+) \(sim:stereotyped on small\)$", shown, re.MULTILINE) == arguments[1:]
    assert main(["show", "s_e[base,gender]"]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("report", [(), (".factorfair/report",), (".factorfair/report/report.json",)])
def test_a_case_is_shown_with_its_counts_and_some_replies(
    capsys: pytest.CaptureFixture[str], report: tuple[str, ...]
) -> None:
    assert main(["show", *report, CASE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{CASE} (sim:ideal on small)", "  gender: Female 100% (24 answers, 0 lost)"]
    assert sum("Reply with exactly" in line for line in lines) <= 2
    replies = [line for line in lines if line.startswith("  -> ")]
    assert len(replies) == 2
    assert all(re.fullmatch(r'  -> \{"answer": "[AB]"\}  \[Female\]', reply) for reply in replies)
    assert "  22 more: -n 0" in lines


@pytest.mark.usefixtures("ran")
def test_names_are_shown_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["subjective-tea_rate-highest-base", CASE, "objective-tea_rate-gender-lowest"]
    for order in (names, names[::-1]):
        assert main(["show", *order]) == 0
        assert re.findall(r"^(\S+) \(", capsys.readouterr().out, re.MULTILINE) == order


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("part", ["objective-tea_rate-gender", "tea_rate-gender", "gender"])
def test_all_replies_of_the_cases_whose_ids_contain_the_part(
    capsys: pytest.CaptureFixture[str], part: str
) -> None:
    assert main(["show", "-n", "0", part]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  -> ") == 2 * 24
    assert "more: -n 0" not in out


def test_replies_without_an_answer_come_first(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    project.run("-p", "no:xdist", "-k", "objective", model="sim:ideal?nonsense=0.2")
    lost = {
        case["case"]: sum(answer["outcome"] == "unparsed" for answer in case["answers"])
        for case in project.report()["cases"]
    }
    case = next(case for case, count in lost.items() if 0 < count < 4)
    capsys.readouterr()
    assert main(["show", case]) == 0
    shown = capsys.readouterr().out
    first, *_ = (line for line in shown.splitlines() if line.startswith("  -> "))
    assert first.endswith("[unparsed (names no option)]")
    assert f" answers, {lost[case]} lost: {lost[case]} unparsed)" in shown


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["objective-tea_rate-gender-higest"],
            f".factorfair/report: it has no case or gate 'objective-tea_rate-gender-higest'; did you mean '{CASE}'?",
        ),
        (
            ["rate-gender"],  # a part begins and ends with words of the id
            ".factorfair/report: it has no case or gate 'rate-gender'; 2 contain it, such as objective-",
        ),
        (["coffee"], ".factorfair/report: it has no case or gate 'coffee'; known: objective, subjective"),
        ([".factorfair/report"], ".factorfair/report: name a case of it to show, or a part of its id"),
        (["none.json", CASE], "none.json: No such file or directory; expected the report.json of a run"),
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


def test_without_a_report_the_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["show", CASE]) == 4
    assert capsys.readouterr().err == (
        "there is no report in .factorfair/report; run pytest first, or name a folder: "
        "factorfair show FOLDER CASE\n"
    )


@pytest.mark.usefixtures("ran")
def test_a_gate_that_passed_names_no_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "s_fact[objective,gender]"]) == 4
    line = "the verdict on 's_fact[objective,gender]' is 'passed', and names no case"
    assert capsys.readouterr().err == f".factorfair/report: {line}\n"


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("line", ["{}", "[]", '"case"'])
def test_a_line_that_is_no_reply_is_refused(capsys: pytest.CaptureFixture[str], line: str) -> None:
    replies = Path(".factorfair/report/responses.jsonl")
    replies.write_text(f"{line}\n{replies.read_text(encoding='utf-8')}", encoding="utf-8")
    assert main(["show", CASE]) == 4
    assert capsys.readouterr().err.endswith(", where line 1 is not a reply of a run\n")


def test_probabilities_are_shares_of_their_groups(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each question, a stereotype of .3 gives .65 to one gender; counted by letter, it would be all."""
    monkeypatch.chdir(project.path)
    asked = ("-k", "tea_rate-highest-base", "--factorfair-answers=probabilities")
    project.run("-p", "no:xdist", *asked, model="sim:stereotyped?strength=0.3")
    capsys.readouterr()
    assert main(["show", "subjective-tea_rate-highest-base"]) == 0
    assert re.search(r"gender: \w+ 65%, \w+ 35%; race: ", capsys.readouterr().out)
