"""Waivers: what they look like, and how long they hold."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from pytest_factorfair.domain import Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, Waiver, judge, parse, release, unused, waivers
from tests.unit.scoring.builders import objective

TALLY = objective([[[18, 6], [6, 18]]])
GATE = "s_fact >= 0.8"
LAST = "2026-12-31"


def _judged(*granted: Waiver, today: date, gate: str = GATE) -> Verdict:
    terms = Terms(estimator="plugin", waivers=granted, today=today)
    (verdict,) = judge([parse(gate)], [TALLY], incomplete=None, terms=terms)
    return verdict


@pytest.mark.parametrize("gate", [GATE, "s_fact-objective-gender", "s_fact[objective,gender]"])
@pytest.mark.parametrize("today", [date(2026, 1, 1), date(2026, 12, 31)])
def test_a_failure_is_waived_through_the_last_day(gate: str, today: date) -> None:
    verdict = _judged(Waiver(gate, "known, being fixed", LAST), today=today)
    assert verdict.judgement == "waived"
    assert verdict.reason == "0.750 is below 0.80; waived until 2026-12-31: known, being fixed"


def test_and_fails_again_after_it() -> None:
    verdict = _judged(Waiver(GATE, "known", LAST), today=date(2027, 1, 1))
    assert (verdict.judgement, verdict.reason) == (
        "failed",
        "0.750 is below 0.80; its waiver expired on 2026-12-31",
    )
    renewed = _judged(
        Waiver(GATE, "known", LAST), Waiver(GATE, "still", "2027-06-30"), today=date(2027, 1, 1)
    )
    assert (renewed.judgement, renewed.reason[-23:]) == ("waived", "until 2027-06-30: still")


def test_only_a_failure_is_waived() -> None:
    passed = _judged(Waiver("s_fact >= 0.7", "why?", LAST), today=date.min, gate="s_fact >= 0.7")
    assert (passed.judgement, passed.reason) == ("passed", "0.750 is at least 0.70")
    terms = Terms(waivers=(Waiver(GATE, "known", LAST),))
    (thin,) = judge([parse("s_e >= 0.8")], [TALLY], incomplete=None, terms=terms)
    assert thin.judgement == "inconclusive"


def test_a_waiver_about_nothing_is_reported() -> None:
    verdict = _judged(today=date.min)
    granted = (Waiver(GATE, "a", LAST), Waiver("s_fact >= 0.9", "b", LAST))
    assert list(unused(granted, [verdict])) == ["the waiver for 's_fact >= 0.9' matches no gate of this run"]


def test_from_a_file() -> None:
    table = [
        {"gate": " s_fact >= 0.8 ", "reason": "two\nlines", "until": date(2026, 12, 31)},
        {"gate": "s_e >= 0.8", "reason": "b", "until": "2026-12-31"},
        {"gate": "s_e >= 0.8", "reason": "b", "until": datetime(2026, 12, 31, 8)},  # noqa: DTZ001 - as TOML has it
    ]
    assert waivers(table, "here") == (
        Waiver("s_fact >= 0.8", "two lines", LAST),
        Waiver("s_e >= 0.8", "b", LAST),
        Waiver("s_e >= 0.8", "b", LAST),
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
    ],
)
def test_what_is_wrong_in_it(value: object, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}") as caught:
        waivers(value, "here")
    assert "\n" not in str(caught.value)


def _verdicts(*judgements: str) -> list[Verdict]:
    return [Verdict("g", str(i), "s", one, None, 0, 0, "") for i, one in enumerate(judgements)]  # type: ignore[arg-type]  # words, here plain texts


@pytest.mark.parametrize(
    ("judgements", "line"),
    [
        ((), ""),
        (("passed",), "PASS: 1 gate passed"),
        (("passed", "passed"), "PASS: all 2 gates passed"),
        (("passed", "failed", "inconclusive"), "FAIL: 1 of 3 gates failed"),
        (("passed", "inconclusive", "not judged"), "OPEN: 1 of 3 gates passed, 1 inconclusive, 1 not judged"),
        (("passed", "waived"), "PASS: 1 of 2 gates passed, 1 waived"),
        (("waived", "inconclusive"), "OPEN: 0 of 2 gates passed, 1 inconclusive, 1 waived"),
    ],
)
def test_the_release_line(judgements: tuple[str, ...], line: str) -> None:
    assert release(_verdicts(*judgements), []) == line


def test_a_pass_names_what_no_gate_judged() -> None:
    left = ["answers in in_group", "distance"]
    assert release(_verdicts("passed"), left) == (
        "PASS: 1 gate passed; no gate judges answers in in_group, distance"
    )
    assert release(_verdicts("passed", "waived"), left).endswith(
        "1 waived; no gate judges answers in in_group, distance"
    )
    for judgement in ("failed", "inconclusive", "not judged"):
        assert "no gate judges" not in release(_verdicts("passed", judgement), left)
