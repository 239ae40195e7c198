"""Annotations read back as GitHub's runner reads a job's log."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.domain import Judgement, Summary, defused
from pytest_factorfair.gates import Obstacle, release
from pytest_factorfair.runs.conclusion import Result
from pytest_factorfair.runs.terminal import annotate
from tests.unit.reports.test_markdown import summary, verdict


def commands(log: str) -> list[tuple[str, dict[str, str], str]]:
    """Name, properties and data of each workflow command, by the rules of the runner's ActionCommand."""
    parsed = []
    for line in re.split(r"\r\n|\r|\n", log):
        if (match := re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)", line)) is not None:
            pairs = [pair.partition("=") for pair in (match[2] or "").split(",") if pair]
            properties = {name.strip(): _unescaped(value) for name, _, value in pairs}
            parsed.append((match[1], properties, _unescaped(match[3])))
        elif "##[" in line:
            parsed.append(("legacy", {}, line))
    return parsed


def _unescaped(text: str) -> str:
    for code, letter in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def told(summary: Summary) -> list[tuple[str, str, str]]:
    log = "\n".join(map(str, annotate(Result(summary, fails=True))))
    return [(name, parts["title"], data) for name, parts, data in commands(log)]


FAILED: Judgement = "failed"
UNDECIDED: Judgement = "inconclusive"
UNJUDGED: Judgement = "not judged"


def of(*judgements: Judgement) -> Summary:
    return summary(gates=tuple(verdict(number, judgement) for number, judgement in enumerate(judgements)))


def levels(summary: Summary) -> list[str]:
    return [level for level, _, _ in told(summary)]


def test_a_long_reason_is_cut_where_a_pull_request_would_fold_it() -> None:
    long = summary(gates=(replace(verdict(0, "failed"), reason="word " * 100),))
    ((_, _, text),) = told(long)
    assert len(text) == 300
    assert text.startswith("s_e[0]: word word")
    assert text.endswith(" ...")


def test_one_for_each_failed_gate() -> None:
    assert told(of("passed", "failed", "waived", "failed")) == [
        ("error", "factorfair: s_e[base,gender] >= 0.000001", "s_e[1]: reason 1"),
        ("error", "factorfair: s_e[base,gender] >= 0.000003", "s_e[3]: reason 3"),
    ]


def test_what_answers_do_not_decide_does_what_the_policy_says() -> None:
    assert levels(of("inconclusive", "failed", "not judged")) == ["error", "warning", "warning"]
    release_level, gate_level = told(of("inconclusive"))
    assert release_level[:2] == ("error", "factorfair: UNDECIDED")
    assert gate_level == (
        "warning",
        "factorfair: s_e[base,gender] >= 0.000000",
        "s_e[0]: inconclusive: reason 0",
    )
    accepted = replace(
        of("inconclusive"), release=release(of("inconclusive").gates, (), tolerated=True, metrics=METRICS)
    )
    assert levels(accepted) == ["warning", "warning"]


@pytest.mark.parametrize(("tolerated", "level"), [(False, "error"), (True, "warning")])
def test_what_was_not_judged_is_reported_once(tolerated: bool, level: str) -> None:  # noqa: FBT001 - a parameter
    unjudged = replace(of(*[UNJUDGED] * 30), incomplete="3 of 14 cases are missing")
    obstacle = Obstacle("3 of 14 cases are missing", "run them all")
    unjudged = replace(
        unjudged, release=release(unjudged.gates, (), obstacle=obstacle, tolerated=tolerated, metrics=METRICS)
    )
    ((reported, title, text),) = told(unjudged)
    assert (reported, title) == (level, "factorfair: UNDECIDED")
    assert text.endswith("3 of 14 cases are missing.")
    assert told(replace(unjudged, gates=(), release=None)) == []


@pytest.mark.parametrize(("failed", "reasons", "remaining"), [(10, 10, None), (11, 9, 2), (500, 9, 491)])
def test_at_most_ten_annotations_are_printed(failed: int, reasons: int, remaining: int | None) -> None:
    annotations = told(of(*[FAILED] * failed, "passed"))
    assert len(annotations) == min(failed, 10)
    assert sum("reason" in text for _, _, text in annotations) == reasons
    if remaining is not None:
        assert annotations[-1][1] == f"factorfair: FAIL: {failed} of {failed + 1} gates failed"
        assert annotations[-1][2].startswith(f"and {remaining} more gates")


def test_errors_stand_before_warnings_in_the_ten() -> None:
    mixed = of(*[UNDECIDED] * 20, *[FAILED] * 3)
    assert levels(mixed) == ["error"] * 3 + ["warning"] * 7


HOSTILE = "x::error::y\r\n::set-output name=a::b\n##[error]c, 100% d: %0A %25 \x1b[31m\u202e"


def test_hostile_names_and_reasons_forge_nothing() -> None:
    hostile = replace(verdict(1, "failed"), gate=HOSTILE, subject=HOSTILE, reason=HOSTILE)
    annotations = told(summary(gates=(hostile,)))
    shown = HOSTILE.replace("\x1b", "").replace("\u202e", "").replace("#", "#\u200b")
    assert annotations == [("error", f"factorfair: {shown}", f"{shown}: {shown}")]


@pytest.mark.parametrize(
    "text",
    [
        "::error::x",
        "  ::error title=a::x",
        "a\n::stop-commands::b",
        "a ##[error]x",
        "\r::debug::y",
        "a\r::error::x",
    ],
)
def test_other_lines_are_no_commands(text: str) -> None:
    assert commands(text)
    assert not commands(defused(text))


def test_plain_lines_stay_as_they_are() -> None:
    for text in ("s_e::x", "a: b", ": c", "## x [1]", "::"):
        assert defused(text).replace(" ", "") == text.replace(" ", "")
    assert defused("sim:ideal::x\n  ok") == "sim:ideal::x\n  ok"
