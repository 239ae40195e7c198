"""Waivers: what they look like, and how long they hold."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime
from functools import partial

import pytest

from pytest_factorfair import gates
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.domain import Answer, CaseKey, Explanation, Judgement, Record, Verdict, Waiver
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import (
    Obstacle,
    Terms,
    check_waivers,
    judge,
    judged_scores,
    parse,
    rule,
    waivers,
)  # fmt: skip
from tests.unit.reports.paper_tables.builders import summary
from tests.unit.scoring.builders import objective

release = partial(gates.release, metrics=METRICS)

TALLY = objective([[[18, 6], [6, 18]]])
GATE = "s_fact >= 0.8"
LAST = "2026-12-31"


def _judged(*granted: Waiver, today: date, gate: str = GATE) -> Verdict:
    terms = Terms(estimator="plugin", waivers=granted, today=today)
    (verdict,) = judge([parse(gate)], [TALLY], incomplete=None, terms=terms)
    return verdict


def _check(*granted: Waiver, gates: tuple[str, ...] = (GATE,)) -> None:
    check_waivers(granted, judged_scores(map(parse, gates), [TALLY]), where="here")


@pytest.mark.parametrize(
    "gate",
    [GATE, "s_fact-objective-gender", "s_fact[objective,gender]", "s_fact[gender, objective]", "s_fact"],
)
@pytest.mark.parametrize("today", [date(2026, 1, 1), date(2026, 12, 31)])
def test_a_failure_is_waived_through_the_last_day(gate: str, today: date) -> None:
    verdict = _judged(Waiver(gate, "known, being fixed", LAST, 0.7), today=today)
    assert verdict.judgement == "waived"
    assert verdict.reason == "0.750 is below 0.80; waived until 2026-12-31 down to 0.7: known, being fixed"


def test_a_failure_counts_again_after_the_waivers_last_day() -> None:
    verdict = _judged(Waiver(GATE, "known", LAST, 0.7), today=date(2027, 1, 1))
    assert (verdict.judgement, verdict.reason) == (
        "failed",
        "0.750 is below 0.80; its waiver expired on 2026-12-31",
    )
    renewed = _judged(
        Waiver(GATE, "known", LAST, 0.7), Waiver(GATE, "still", "2027-06-30", 0.7), today=date(2027, 1, 1)
    )
    assert (renewed.judgement, renewed.reason[-35:]) == ("waived", "until 2027-06-30 down to 0.7: still")


@pytest.mark.parametrize(
    ("floor", "judgement", "end", "asks_more"),
    [
        (0.55, "waived", "waived until 2026-12-31 down to 0.55: known", False),
        (0.65, "failed", "its waiver covers it down to 0.65, and it may be beyond that", True),
        (0.74, "failed", "its waiver covers it down to 0.74, and it is beyond that", False),
    ],
)
def test_the_floor_is_judged_by_bounds(floor: float, judgement: str, end: str, asks_more: bool) -> None:  # noqa: FBT001 - a parameter
    """65 of 100 are true: one-sided bounds of 1.645 standard errors are about .57 and .73."""
    tallies = [objective([[[65, 35], [35, 65]]])]
    terms = Terms(waivers=(Waiver(GATE, "known", LAST, floor),), today=date(2026, 1, 1))
    (ruling,) = rule([parse(GATE)], tallies, terms=terms)
    assert (ruling.verdict.judgement, ruling.verdict.reason.endswith(end)) == (judgement, True)
    assert bool(ruling.undecided) == asks_more


def test_the_floor_of_a_rate_is_an_upper_limit() -> None:
    rate = "refusal_rate <= 0.05"
    tallies = [objective([[[65, 35], [35, 65]]], refused=[[20, 20]])]  # 40 of 240 are refused
    for limit, judgement in ((0.4, "waived"), (0.1, "failed")):
        terms = Terms(waivers=(Waiver(rate, "known", LAST, limit),), today=date(2026, 1, 1))
        (verdict,) = judge([parse(rate)], tallies, incomplete=None, terms=terms)
        assert verdict.judgement == judgement


@pytest.mark.parametrize(("gate", "floor"), [(GATE, 0.8), (GATE, 0.9), ("refusal_rate <= 0.05", 0.05)])
def test_a_floor_that_excuses_nothing_is_refused(gate: str, floor: float) -> None:
    with pytest.raises(
        InputError, match=f"its floor {floor:g} is not (below|above) the threshold of '{gate}'"
    ):
        _check(Waiver(gate, "known", LAST, floor), gates=(gate,))
    _check(Waiver(gate, "known", LAST, 0.5), gates=(gate,))


@pytest.mark.parametrize(
    ("gate", "floor", "scale"),
    [
        (GATE, -1, "0 to 1, the range of s_fact"),
        ("refusal_rate <= 0.05", 1.5, "0 to 1, the range of refusal_rate"),
    ],
)
def test_a_floor_outside_the_range_of_its_metric_is_refused(gate: str, floor: float, scale: str) -> None:
    with pytest.raises(InputError, match=f"'{gate}': its floor {floor:g} is outside {scale}"):
        _check(Waiver(gate, "known", LAST, floor), gates=(gate,))


@pytest.mark.parametrize("written", ["regression( s_fact ) >= -2%", "regression-s_fact-objective-gender"])
def test_the_floor_of_a_change_may_be_negative(written: str) -> None:
    _check(Waiver(written, "known", LAST, -0.5), gates=("regression(s_fact) >= -0.02",))


@pytest.mark.parametrize(
    ("until", "floor", "judgement", "end", "asks_more"),
    [
        (LAST, 0.5, "waived", "too close to 0.70 to tell; waived until 2026-12-31 down to 0.5: known", False),
        (LAST, 0.6, "inconclusive", "its waiver covers it down to 0.6, and it may be beyond that", True),
        ("2025-12-31", 0.5, "inconclusive", "its waiver expired on 2025-12-31", True),
    ],
)
def test_an_undecided_gate_is_waived_like_a_failed_one(
    until: str,
    floor: float,
    judgement: str,
    end: str,
    asks_more: bool,  # noqa: FBT001 - a parameter
) -> None:
    """65 of 100 are true: one-sided bounds are about .57 and .73. A worse score would be waived, too."""
    tallies = [objective([[[65, 35], [35, 65]]])]
    terms = Terms(waivers=(Waiver("s_fact >= 0.7", "known", until, floor),), today=date(2026, 1, 1))
    (ruling,) = rule([parse("s_fact >= 0.7")], tallies, terms=terms)
    assert ruling.verdict.judgement == judgement
    assert ruling.verdict.reason.endswith(end)
    # It is reported by itself: waived with its reason, else with what its waiver lacks.
    assert ruling.verdict.cause == "" if judgement == "waived" else ruling.verdict.cause.endswith(end)
    assert bool(ruling.undecided) == asks_more


def test_a_waiver_neither_covers_a_pass_nor_answers_that_are_too_few() -> None:
    passed = _judged(Waiver("s_fact >= 0.7", "why?", LAST, 0.6), today=date.min, gate="s_fact >= 0.7")
    assert (passed.judgement, passed.reason) == ("passed", "0.750 is at least 0.70")
    few = [objective([[[9, 1], [1, 9]]])]
    terms = Terms(waivers=(Waiver(GATE, "known", LAST, 0.1),), today=date.min)
    (verdict,) = judge([parse(GATE)], few, incomplete=None, terms=terms)
    assert verdict.judgement == "inconclusive"
    assert "too few" in verdict.reason


MEANT: tuple[tuple[str, str], ...] = (
    ("s_fact >= 0.80", "s_fact>=.8"),
    ("s_fact >= 0.80", "s_fact >= 80 %"),
    ("s_fact[objective,gender] >= 0.8", "s_fact[ gender ,objective] >= 0.800"),
    ("s_fact[objective,gender] >= 0.8", "s_fact[gender,objective]"),
    ("s_fact[gender] >= 0.8", "s_fact[objective,gender] >= 0.8"),  # its only score
)


@pytest.mark.parametrize(("gate", "written"), MEANT)
def test_a_waiver_is_matched_by_meaning(gate: str, written: str) -> None:
    granted = Waiver(written, "known", LAST, 0.7)
    _check(granted, gates=(gate,))
    assert _judged(granted, today=date.min, gate=gate).judgement == "waived"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("s_fact >= 0.81", " matches no gate of this run; did you mean 's_fact >= 0.8'?"),
        ("s_fact <= 0.8", " matches no gate of this run; did you mean 's_fact >= 0.8'?"),
        ("s_fact[race] >= 0.8", " matches no gate of this run; did you mean 's_fact >= 0.8'?"),
        ("refusal_rate[gender] <= 0.2", " matches no gate of this run; did you mean 'refusal_rate <= 0.1'?"),
        ("regression(s_fact) >= 0.8", " matches no gate of this run; did you mean 's_fact >= 0.8'?"),
        ("s_fact-race", " matches no gate of this run; did you mean 's_fact >= 0.8'?"),
        ("s_fct >= 0.8", ": gate 's_fct >= 0.8': unknown metric 's_fct'; did you mean 's_fact'?"),
        ("default", " matches no gate of this run; did you mean 'refusal_rate <= 0.1'?"),
    ],
)
def test_a_waiver_that_matches_no_gate_names_the_nearest(written: str, problem: str) -> None:
    """It neither waives anything nor may it look as if it did."""
    with pytest.raises(InputError, match=re.escape(f"here: the waiver for '{written}'{problem}")):
        _check(Waiver(written, "known", LAST, 0.7), gates=(GATE, "refusal_rate <= 0.1"))


def test_a_waiver_without_gates_matches_none() -> None:
    with pytest.raises(InputError, match="matches no gate of this run, which has none"):
        _check(Waiver(GATE, "known", LAST, 0.7), gates=())


def test_waivers_are_read_from_a_file() -> None:
    table = [
        {"gate": " s_fact >= 0.8 ", "reason": "two\nlines", "until": date(2026, 12, 31), "floor": 0.7},
        {"gate": "s_e >= 0.8", "reason": "b", "until": "2026-12-31", "floor": 0},
        {"gate": "s_e >= 0.8", "reason": "b", "until": datetime(2026, 12, 31, 8), "floor": 0.7},  # noqa: DTZ001 - as TOML has it
    ]
    assert waivers(table, "here") == (
        Waiver("s_fact >= 0.8", "two lines", LAST, 0.7),
        Waiver("s_e >= 0.8", "b", LAST, 0),
        Waiver("s_e >= 0.8", "b", LAST, 0.7),
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("s_fact", "here: expected a list of waivers like {gate = "),
        (["s_fact"], r"here\[0\]: expected a table like {gate = "),
        ([{"gates": "x"}], r"here\[0\]: unknown key 'gates'; did you mean 'gate'\?"),
        ([{"reason": "x", "until": LAST}], r"here\[0\]: gate: expected a text"),
        ([{"gate": "x", "reason": " ", "until": LAST}], r"here\[0\]: reason: expected a text"),
        ([{"gate": "x", "reason": "y"}], r"here\[0\]: until: expected a date"),
        ([{"gate": "x", "reason": "y", "until": "soon"}], r"here\[0\]: until: expected a date"),
        ([{"gate": "x", "reason": "y", "until": 20261231.5}], r"here\[0\]: until: expected a date"),
        (
            [{"gate": "x", "reason": "y", "until": LAST}],
            r"here\[0\]: floor: expected the number beyond which",
        ),
        (
            [{"gate": "x", "reason": "y", "until": LAST, "floor": True}],
            r"here\[0\]: floor: expected the number",
        ),
        (
            [{"gate": "x", "reason": "y", "until": LAST, "floor": 90}],
            r"here\[0\]: floor: expected the number",
        ),
    ],
)
def test_wrong_waivers_are_refused(value: object, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}") as caught:
        waivers(value, "here")
    assert "\n" not in str(caught.value)


def _verdicts(*judgements: Judgement) -> list[Verdict]:
    return [
        Verdict("s_e >= 0.9", str(i), "s", judgement, None, 0, 0, "")
        for i, judgement in enumerate(judgements)
    ]


@pytest.mark.parametrize(
    ("judgements", "line"),
    [
        (("passed",), "PASS: 1 gate passed"),
        (("passed", "passed"), "PASS: all 2 gates passed"),
        (("passed", "failed", "inconclusive"), "FAIL: 1 of 3 gates failed"),
        (
            ("passed", "inconclusive", "not judged"),
            "UNDECIDED: 1 of 3 gates passed, 1 inconclusive, 1 not judged",
        ),
        (("passed", "waived"), "PASS WITH WAIVERS: 1 of 2 gates passed, 1 waived"),
        (("waived", "inconclusive"), "UNDECIDED: 0 of 2 gates passed, 1 inconclusive, 1 waived"),
    ],
)
def test_the_release_line(judgements: tuple[Judgement, ...], line: str) -> None:
    verdict = release(_verdicts(*judgements), [])
    assert str(verdict) == line
    assert verdict is not None
    assert verdict.fails == (verdict.word in ("FAIL", "UNDECIDED"))


def test_without_gates_there_is_no_release() -> None:
    assert release([], []) is None


def test_an_undecided_release_passes_only_if_that_is_accepted() -> None:
    verdicts = _verdicts("passed", "inconclusive")
    for tolerated in (False, True):
        obstacle = Obstacle("the limit is reached", "raise it")
        verdict = release(verdicts, [], obstacle=obstacle, tolerated=tolerated)
        assert verdict is not None
        assert (verdict.word, verdict.fails) == ("UNDECIDED", not tolerated)
        assert verdict.advice.endswith(": the limit is reached.")
        assert verdict.next_step == "raise it"
    failed = release(_verdicts("failed", "inconclusive"), [], tolerated=True)
    assert failed is not None
    assert failed.fails


def test_a_report_whose_answers_cannot_be_read_has_no_release() -> None:
    unparsed = (Answer(str(number), "unparsed", "", None, {}, {}, "") for number in range(3))
    unreadable = Record(CaseKey("m", "c", "case"), tuple(unparsed))
    release = gates.release_of(summary(gates=_verdicts("passed"), cases=(unreadable,)))
    assert release is not None
    assert (release.word, release.counts) == ("UNDECIDED", "1 gate passed, 1 case unreadable")


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("It errs 5 times; fair is 0, the limit is 4. It may be less.", ("it errs 5 times", "fair is 0")),
        ("Asked here, it errs 5 times; the limit is 4.", ("asked here, it errs 5 times",)),
        ("It errs; it was 3 before; the limit is a rise of 1.", ("it errs; it was 3 before",)),
        ("Nothing was found, whoever asks.", ()),
    ],
)
def test_the_clauses_of_an_explanation_are_without_its_limit(sentence: str, clauses: tuple[str, ...]) -> None:
    assert Explanation(sentence).clauses == clauses


def _of_cause(cause: str, *judgements: Judgement, sentence: str = "") -> list[Verdict]:
    explanation = Explanation(sentence, next_step="factorfair show a") if sentence else None
    return [replace(verdict, cause=cause, explanation=explanation) for verdict in _verdicts(*judgements)]


@pytest.mark.parametrize(
    ("verdicts", "advice"),
    [
        (_of_cause("", "failed", sentence="It errs; the limit is 5."), "Do not ship it: it errs."),
        (
            _of_cause("", "failed", "failed", sentence="It errs; the limit is 5."),
            "Do not ship it: it errs. 1 more gate failed.",
        ),
        (
            [
                replace(verdict, model=model)
                for model, verdict in zip(
                    ("a", "b", "c"),
                    _of_cause("", "failed", "passed", "failed", sentence="It errs; the limit is 5."),
                    strict=True,
                )
            ],
            "Do not ship a and c: it errs. 1 more gate failed.",
        ),
        (
            [
                replace(verdict, model=model)
                for model, verdict in zip(
                    ("a", ""),
                    _of_cause("", "failed", "not judged", sentence="It errs; the limit is 5."),
                    strict=True,
                )
            ],
            "Do not ship it: it errs.",
        ),
        (
            [
                replace(verdict, about=f"{kind} about x")
                for kind, verdict in zip(
                    ("facts", "facts", "judgements", "judgements"),
                    _of_cause("", "failed", "failed", "failed", "failed", sentence="It errs; the limit is 5."),
                    strict=True,
                )
            ],
            "Do not ship it: it errs. 3 more gates failed: 2 on judgements about x and 1 on facts about x.",
        ),
        (
            _of_cause("it refused all 9 questions", "failed", "failed", sentence="It refused; the limit is 5."),
            "Do not ship it: it refused all 9 questions, so 2 gates failed.",
        ),
        (
            _of_cause("it refused all 9 questions", "inconclusive", sentence="It is fair; the limit is 5."),
            "Do not ship it yet: it refused all 9 questions, so s is undecided.",
        ),
        (
            [
                *_of_cause("too close to the limit to tell", "inconclusive", sentence="It errs; the limit is 5."),
                *_of_cause("", "inconclusive"),
            ],
            "Do not ship it yet: it errs, which is too close to the limit to tell. 1 more gate is undecided.",
        ),
        (_of_cause("", "not judged"), "Do not ship it yet: s: ."),
    ],
)  # fmt: skip
def test_the_advice_says_why(verdicts: list[Verdict], advice: str) -> None:
    """The first verdict in its own words, or a cause with the gates that it concerns."""
    verdict = release(verdicts, [])
    assert verdict is not None
    assert verdict.advice == advice
    assert verdict.next_step == ("factorfair show a" if verdicts[0].explanation else "")


def test_a_pass_names_its_waivers() -> None:
    verdict = release(_verdicts("passed", "waived"), [])
    assert verdict is not None
    assert verdict.advice.endswith("; s did not pass and is waived.")


def test_a_deferred_release_is_not_judged() -> None:
    verdict = release(_verdicts("not judged"), [], deferred="left to the merge: shard 1 of 2")
    assert verdict is not None
    assert (str(verdict), verdict.fails) == ("NOT JUDGED: left to the merge: shard 1 of 2", False)


def test_a_pass_names_what_no_gate_judged() -> None:
    unjudged = ["judgements in in_group", "facts about race"]
    named = "; no gate judges judgements in in_group, facts about race"
    assert str(release(_verdicts("passed"), unjudged)) == f"PASS: 1 gate passed{named}"
    assert str(release(_verdicts("passed", "waived"), unjudged)).endswith(f"1 waived{named}")
    for judgement in ("failed", "inconclusive", "not judged"):
        assert "no gate judges" not in str(release(_verdicts("passed", judgement), unjudged))
