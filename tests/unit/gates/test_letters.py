"""Letters say exactly which models differ."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.statistics.holm import letters


def test_letters_of_worked_examples() -> None:
    assert letters(["x"], []) == {"x": "a"}
    assert letters(["x", "y"], []) == {"x": "a", "y": "a"}
    assert letters(["x", "y"], [("y", "x")]) == {"x": "a", "y": "b"}
    # The one in the middle differs from neither end.
    assert letters(["x", "y", "z"], [("x", "z")]) == {"x": "a", "y": "ab", "z": "b"}
    assert letters([], []) == {}


def test_more_than_26_groups_have_numbered_letters() -> None:
    names = [str(number) for number in range(60)]
    display = letters(names, list(combinations(names, 2)))
    assert (display["0"], display["25"], display["26"], display["52"]) == ("a", "z", "a2", "a3")
    assert len(set(display.values())) == 60


@given(st.sets(st.sampled_from(list(combinations("abcdefg", 2)))))
def test_two_share_a_letter_exactly_when_they_do_not_differ(differing: set[tuple[str, str]]) -> None:
    display = letters("abcdefg", differing)
    for pair in combinations("abcdefg", 2):
        assert bool(set(display[pair[0]]) & set(display[pair[1]])) == (pair not in differing)
