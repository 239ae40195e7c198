"""Every reply is kept beside the report, and those without an answer are shown first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pytest_factorfair.benchmarks.reporting import SCANS, ScannedCell, ScanResult
from pytest_factorfair.domain import Answer, CaseKey, Outcome, Record
from pytest_factorfair.reports.responses import EXCERPTS, LONGEST, Transcript
from pytest_factorfair.store import CallTexts
from tests.unit.reports.paper_tables.builders import summary

CASE = CaseKey("m", "c", "case-1")
PROMPT = 'Who? </script> "'


def _answer(number: int, outcome: Outcome) -> Answer:
    return Answer(str(number), outcome, "", "A" if outcome == "answered" else None, {}, {}, f"key{number}")


def _said(keys: Iterable[str]) -> Mapping[str, CallTexts]:
    """No response is kept under the last key: that call failed."""
    return {
        key: CallTexts(json.dumps(PROMPT), json.dumps({"text": f"reply to {key}", "finish": "stop"}))
        for key in keys
        if key != "key11"
    }


def _transcript(*queries: str) -> tuple[Transcript, list[str]]:
    """Of a case with twelve answers, of which these queries show what a scan found."""
    answered: Outcome = "answered"
    outcomes: tuple[Outcome, ...] = (*[answered] * 9, "refused", "unparsed", "error")
    record = Record(CASE, tuple(_answer(number, outcome) for number, outcome in enumerate(outcomes)))
    cell = ScannedCell("a Black person", "told nothing", 9, 9, 2, 4, 1.5, "", "case-1", queries)
    scan = ScanResult(
        "m", "c", "subjective", 1.5, 9, 17.0, 0.01, 9, (cell, replace(cell, value=0.5, queries=("0",)))
    )
    transcript = Transcript(replace(summary([]), cases=(record,), rows={SCANS.name: (scan,)}), _said)
    return transcript, "".join(transcript.pieces()).splitlines(keepends=True)


def test_every_answer_is_a_line() -> None:
    _, lines = _transcript()
    rows = [json.loads(line) for line in lines]
    assert [row["outcome"] for row in rows] == ["answered"] * 9 + ["refused", "unparsed", "error"]
    assert {row["prompt"] for row in rows[:11]} == {PROMPT}
    assert [row["response"]["text"] for row in rows[:2]] == ["reply to key0", "reply to key1"]
    assert (rows[11]["prompt"], rows[11]["response"]) == (None, None)


def test_those_without_an_answer_come_first() -> None:
    transcript, _ = _transcript()
    (excerpts,) = transcript.excerpts
    assert (len(excerpts.shown), excerpts.total) == (EXCERPTS, 12)
    assert [excerpt.answer.outcome for excerpt in excerpts.shown] == ["refused", "unparsed", "error"] + [
        "answered"
    ] * 5
    assert excerpts.shown[2].reply is None


def test_what_shows_a_cell_of_a_scan_comes_before_all_others() -> None:
    """And all of it is there, even if it is more than what a page shows otherwise."""
    (few,) = _transcript("3", "7")[0].excerpts
    assert [excerpt.answer.query for excerpt in few.shown] == ["3", "7", "9", "10", "11", "0", "1", "2"]
    (many,) = _transcript(*map(str, range(10)))[0].excerpts
    assert sorted(excerpt.answer.query for excerpt in many.shown) == [*map(str, range(10))]


def test_a_long_reply_is_cut_and_says_by_how_much() -> None:
    body = json.dumps({"text": "x" * (LONGEST + 7)})
    transcript = Transcript(
        replace(summary([]), cases=(Record(CASE, (_answer(0, "unparsed"),)),)),
        lambda keys: {key: CallTexts(json.dumps(PROMPT), body) for key in keys},
    )
    (line,) = transcript.pieces()
    assert len(json.loads(line)["response"]["text"]) == LONGEST + 7
    (shown,) = transcript.excerpts[0].shown
    assert (len(shown.reply or ""), shown.cut) == (LONGEST, 7)
