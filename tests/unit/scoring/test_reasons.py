"""Shares of reasons, counted by hand."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Citation, Reason
from pytest_factorfair.runs.reasons import ReasonContext, reason_shares

PLACE = ReasonContext("m", "facts", "attribution")


def _reason(text: str, *cited: Citation) -> Reason:
    return Reason("answered", text, frozenset(cited))


def test_shares_are_among_given_reasons_and_missing_ones_are_counted() -> None:
    answered = [_reason("one", "group", "news"), _reason("two", "group"), _reason("three"), _reason("four")]
    lost = [Reason("refused"), Reason("unparsed"), Reason("unparsed"), Reason("error")]
    rows = {row.citation: row for row in reason_shares({PLACE: answered + lost})}
    assert {name: (row.count, row.share) for name, row in rows.items()} == {
        "group": (2, 0.5), "prior": (0, 0.0), "news": (1, 0.25), "identity": (0, 0.0)
    }  # fmt: skip
    row = rows["group"]
    assert (row.n, row.asked, row.refused, row.unparsed, row.errors) == (4, 8, 1, 2, 1)
    # Wilson's interval of 2 of 4, as tables have it.
    assert row.low == pytest.approx(0.1500, abs=1e-4)
    assert row.high == pytest.approx(0.8500, abs=1e-4)
    assert rows["prior"].low == 0
    assert rows["prior"].high == pytest.approx(0.4899, abs=1e-4)


def test_the_first_different_reasons_are_quoted_and_cut() -> None:
    texts = ["a", "b", "a", "c" * 500, "d"]
    rows = list(reason_shares({PLACE: [_reason(text, "prior") for text in texts]}))
    quoted = rows[1].quotations
    assert quoted[:2] == ("a", "b")
    assert (len(quoted), len(quoted[2]), quoted[2][-4:]) == (3, 240, "c...")
    assert rows[0].quotations == ()


def test_without_a_reason_there_is_no_share() -> None:
    rows = list(reason_shares({PLACE: [Reason("refused")]}))
    assert [(row.share, row.low, row.high, row.n, row.asked) for row in rows] == [
        (None, None, None, 0, 1)
    ] * 4
