"""What queries showed of people and which of it was chosen: names and ages.

Told per case where its queries are at hand, as nobody downstream builds them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_factorfair.domain import Answer, Choices, Option, Query, Share


def choices(asked: Iterable[tuple[Query, Answer]]) -> Choices:
    """The shares of each name and age over the queries that were answered with one of their people."""
    shown: list[list[Option]] = []
    chosen: list[Option] = []
    for query, answer in asked:
        if answer.outcome == "answered":
            people = [option for option in query.options if option.age is not None]
            for person in people:
                if person.letter == answer.letter:
                    shown.append(people)
                    chosen.append(person)
    if not chosen:
        return {}
    names = [tuple([person.words[0] for person in people]) for people in shown]
    ages = [tuple([person.age for person in people]) for people in shown]
    return {
        "name": _shares(names, [person.words[0] for person in chosen]),
        "age": _shares(ages, [person.age for person in chosen]),
    }


def _shares(rows: Iterable[tuple[object, ...]], chosen: Iterable[object]) -> dict[str, Share]:
    """Somebody indifferent takes a value as often as it is shown, whatever else there is."""
    expected: dict[object, float] = {}
    spread: dict[object, float] = {}
    for row, times in Counter(rows).items():
        for value in dict.fromkeys(row):
            share = row.count(value) / len(row)
            expected[value] = expected.get(value, 0.0) + times * share
            spread[value] = spread.get(value, 0.0) + times * share * (1 - share)
    taken = Counter(chosen)
    return {str(value): Share(taken[value], expected[value], spread[value]) for value in expected}
