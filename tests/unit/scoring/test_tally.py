"""A tally is read-only, can be restricted, and names its cells."""

from __future__ import annotations

import pytest

from tests.unit.scoring.builders import tally

COUNTS = [[[1, 2], [3, 4]], [[5, 0], [0, 0]], [[0, 7], [8, 8]]]


def test_a_restricted_tally_keeps_the_order_of_statistics() -> None:
    whole = tally(COUNTS, refused=[[0, 1], [2, 3], [4, 5]])
    part = whole.restrict({"rate_2", "rate_0", "no_such_rate"})
    assert part.statistics == ("rate_0", "rate_2")
    assert part.counts.tolist() == [COUNTS[0], COUNTS[2]]
    assert part.refused.tolist() == [[0, 1], [4, 5]]
    assert (part.asked == part.answered + part.refused).all()
    assert whole.statistics == ("rate_0", "rate_1", "rate_2")


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        tally(COUNTS).counts[0, 0, 0] = 9


def test_cells_have_names() -> None:
    assert tally(COUNTS).cell(1, 1) == "Rate 1, lowest"
