"""What queries showed of people and which of it was chosen: names and ages.

Told per case where its queries are at hand, as nobody downstream builds them again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from pytest_factorfair.domain import Answer, Choices, Option, Query, Share

_Row = tuple[str, ...]


def choices(asked: Iterable[tuple[Query, Answer]]) -> Choices:
    """The shares of each name and age over the queries that were answered with one of their people."""
    rows: dict[str, Counter[_Row]] = defaultdict(Counter)
    chosen: dict[str, Counter[str]] = defaultdict(Counter)
    for query, answer in asked:
        letters = [option.letter for option in query.options]
        if answer.outcome == "answered" and answer.letter in letters:
            place = letters.index(answer.letter)
            for kind, row in _people(query.options):
                rows[kind][row] += 1
                chosen[kind][row[place]] += 1
    return {kind: _shares(rows[kind], chosen[kind]) for kind in rows}


def _people(options: Iterable[Option]) -> list[tuple[str, _Row]]:
    """The names and the ages, in every option; groups have neither."""
    people = [option for option in options if option.age is not None]
    names, ages = [person.words[0] for person in people], [str(person.age) for person in people]
    return [("name", tuple(names)), ("age", tuple(ages))] if people else []


def _shares(rows: Mapping[_Row, int], chosen: Mapping[str, int]) -> dict[str, Share]:
    """Somebody indifferent takes a value as often as it is shown, whatever else there is."""
    expected: dict[str, float] = {}
    spread: dict[str, float] = {}
    for row, times in rows.items():
        for value in dict.fromkeys(row):
            share = row.count(value) / len(row)
            expected[value] = expected.get(value, 0.0) + times * share
            spread[value] = spread.get(value, 0.0) + times * share * (1 - share)
    return {value: Share(chosen.get(value, 0), expected[value], spread[value]) for value in expected}
