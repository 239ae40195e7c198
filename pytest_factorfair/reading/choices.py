"""What queries showed and which of it was chosen: the letters, and the names and ages of people.

Told per case where its queries are at hand, as nobody downstream builds them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from pytest_factorfair.domain import Answer, Choices, Option, Query, Share

_Row = tuple[str, ...]


def choices(asked: Iterable[tuple[Query, Answer]]) -> Choices:
    """The shares of each letter, name and age over the queries that were answered with one of theirs."""
    rows: dict[str, Counter[_Row]] = {}
    chosen: dict[str, Counter[str]] = {}
    for query, answer in asked:
        letters = [option.letter for option in query.options]
        if answer.outcome == "answered" and answer.letter in letters:
            place = letters.index(answer.letter)
            for kind, row in _shown(query.options):
                rows.setdefault(kind, Counter())[row] += 1
                chosen.setdefault(kind, Counter())[row[place]] += 1
    return {kind: _shares(rows[kind], chosen[kind]) for kind in rows}


def _shown(options: Iterable[Option]) -> Iterator[tuple[str, _Row]]:
    """Each kind of thing shown, with its value in every option; groups have neither name nor age."""
    yield "letter", tuple(option.letter for option in options)
    people = [option for option in options if option.age is not None]
    if people:
        yield "name", tuple(person.words[0] for person in people)
        yield "age", tuple(str(person.age) for person in people)


def _shares(rows: Mapping[_Row, int], chosen: Mapping[str, int]) -> dict[str, Share]:
    """Somebody indifferent takes a value as often as it is shown, whatever else there is."""
    expected: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    for row, times in rows.items():
        for value, count in Counter(row).items():
            share = count / len(row)
            expected[value] += times * share  # type: ignore[assignment]  # a Counter adds floats as well
            spread[value] += times * share * (1 - share)  # type: ignore[assignment]  # likewise
    return {value: Share(chosen.get(value, 0), expected[value], spread[value]) for value in expected}
