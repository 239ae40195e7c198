"""What the same question was answered in two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Record
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import IntArray

Cell: TypeAlias = tuple[int, int]
Answers: TypeAlias = tuple[tuple[Cell, str, int], ...]


def pairs(new: Tally, old: Tally, records: Iterable[Record], former: Iterable[Record]) -> IntArray:
    """Queries answered in both runs, of shape (S, 2, k, k): by cell, former answer and new answer.

    A query is the same exactly when its id is: the prompt and its repeat. ``records`` and ``former``
    are those of the runs the tallies come from; other cases among them are left out.
    """
    return joint(new, answers(new, records), answers(old, former))


def joint(tally: Tally, after: Answers, before: Answers) -> IntArray:
    """Queries answered both times, of shape (S, 2, k, k), the tally's; rows are the answers before."""
    found = np.zeros((*tally.counts.shape, tally.k), np.int64)
    known_before = {(cell, query): group for cell, query, group in before}
    for cell, query, group in after:
        if (known := known_before.get((cell, query))) is not None:
            found[(*cell, known, group)] += 1
    return found


def answers(tally: Tally, records: Iterable[Record]) -> Answers:
    """Cell, query id and the place of the group of every answer that the tally counts."""
    return tuple(_answers(tally, records))


def _answers(tally: Tally, records: Iterable[Record]) -> Iterator[tuple[Cell, str, int]]:
    cells, groups = dict(_cells(tally)), {group: place for place, group in enumerate(tally.groups)}
    for record in records:
        key = record.case
        cell = cells.get(key.case if tally.context is None else key.case.rpartition("-")[0])
        if cell is None or (key.model, key.checklist) != (tally.model, tally.checklist):
            continue
        faces = Counter[str]()  # of a picture, in their order: each is an answer to the same query
        for answer in record.answers:
            if (group := _group(answer.groups, tally, groups)) is not None:
                faces[answer.query] += 1
                yield cell, f"{answer.query}-{faces[answer.query]}", group


def _group(named: Mapping[str, str], tally: Tally, groups: Mapping[str, int]) -> int | None:
    return groups.get(named.get(tally.attribute, ""))


def _cells(tally: Tally) -> Iterator[tuple[str, Cell]]:
    """The tally's cells by the ids of their cases, without the scenario's number."""
    for row, statistic in enumerate(tally.statistics):
        for column, way in enumerate(DIRECTIONS):
            if tally.context is None:
                yield f"{tally.part}-{statistic}-{tally.attribute}-{way}", (row, column)
                yield f"{tally.part}-{statistic}-{way}", (row, column)  # a picture shows all attributes
            else:
                yield f"{tally.part}-{statistic}-{way}-{tally.context}", (row, column)
