"""What was shown and what was chosen, counted by hand."""

from __future__ import annotations

from pytest_factorfair.domain import Answer, Option, Query, Share, together
from pytest_factorfair.reading import choices


def _query(*people: tuple[str, int | None]) -> Query:
    options = tuple(
        Option(letter, f"{name}, {age}", (name,), {}, age)
        for letter, (name, age) in zip("ABC", people, strict=False)
    )
    return Query("q", "", options, 0, 0, {})


def _answer(letter: str | None) -> Answer:
    return Answer("q", "refused" if letter is None else "answered", "", letter, {}, {}, "")


TWO = _query(("Ann", 30), ("Bob", 30))
THREE = _query(("Bob", 40), ("Eve", 30), ("Bob", 40))


def test_each_value_is_expected_as_often_as_it_is_shown() -> None:
    found = choices([(TWO, _answer("B")), (TWO, _answer("B")), (THREE, _answer("A")), (TWO, _answer(None))])
    assert found["name"] == {
        "Ann": Share(0, 1.0, 0.5),
        "Bob": Share(3, 1.0 + 2 / 3, 0.5 + 2 / 3 * (1 - 2 / 3)),
        "Eve": Share(0, 1 / 3, 1 / 3 * (1 - 1 / 3)),
    }
    assert found["age"]["30"].expected == 2 + 1 / 3
    assert (
        found["age"]["30"].spread == found["age"]["40"].spread
    )  # nothing to choose where all are of one age


def test_groups_have_neither() -> None:
    query = _query(("Female", None), ("Male", None))
    assert choices([(query, _answer("A"))]) == {}


def test_without_an_answer_there_is_nothing_to_tell() -> None:
    assert choices([(TWO, _answer(None)), (TWO, _answer("Z"))]) == {}


def test_shares_add_up() -> None:
    one, two = choices([(TWO, _answer("A"))]), choices([(THREE, _answer("B"))])
    assert together(one, two) == choices([(TWO, _answer("A")), (THREE, _answer("B"))])
    assert together({}, one) == one
