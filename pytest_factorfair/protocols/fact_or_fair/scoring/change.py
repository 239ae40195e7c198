"""Changes of scores between two runs, paired by question, with their errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Record
from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.fact_or_fair.counting.answer_arrays import AnswerArrays, AnswerRow, given
from pytest_factorfair.protocols.fact_or_fair.counting.tally import Tally
from pytest_factorfair.protocols.fact_or_fair.scoring.spread import (
    EVENNESS,
    LIKENESS,
    instrument,
    pulls,
    second_orders,
)
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate

Cell: TypeAlias = tuple[int, int]


class AnswersByQuery(NamedTuple):
    """The answers of a tally: their rows by cell and query, and the groups' shares in each, (n, k).

    ``adjusted`` are the shares without the effect of letters.
    """

    rows: Mapping[tuple[Cell, str], int]
    shares: FloatArray
    adjusted: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Queries answered in both runs: their cells, and the shares (n, k) in the new and the former answer."""

    cells: tuple[IntArray, IntArray]
    new: FloatArray
    old: FloatArray
    adjusted_new: FloatArray
    adjusted_old: FloatArray

    @classmethod
    def of(cls, after: AnswersByQuery, before: AnswersByQuery) -> Pairs:
        """Queries are the same if their ids are: prompt and repeat."""
        shared = [key for key in after.rows if key in before.rows]
        rows, columns = np.array([cell for cell, _ in shared], np.int64).reshape(-1, 2).T
        new, old = (np.array([*map(run.rows.__getitem__, shared)], np.int64) for run in (after, before))
        return cls(
            (rows, columns), after.shares[new], before.shares[old], after.adjusted[new], before.adjusted[old]
        )

    def matched(self, like: FloatArray) -> FloatArray:
        """How many pairs each cell has, in the shape (S, 2) of ``like``."""
        return self._total(np.ones(len(self.new)), like)

    def alike(self, like: FloatArray) -> FloatArray:
        """The overlap of new and former answers: the smaller of their shares, summed over each cell."""
        return self._total(np.minimum(self.new, self.old).sum(axis=-1), like)

    def restrict(self, row: int) -> Pairs:
        """The pairs of one statistic, which becomes the only one."""
        in_row = self.cells[0] == row
        cells = np.zeros_like(self.cells[0][in_row]), self.cells[1][in_row]
        return Pairs(
            cells, self.new[in_row], self.old[in_row], self.adjusted_new[in_row], self.adjusted_old[in_row]
        )

    def _total(self, values: FloatArray, like: FloatArray) -> FloatArray:
        totals = np.zeros(like.shape)
        np.add.at(totals, self.cells, values)
        return totals


class Influences:
    """The contributions of one run's answers and cells to the variance of a score.

    ``slope`` says how the score follows S_fact, S_E and S_KLD, ``counted`` which cells S_fact is over.
    ``per_answer`` (S, 2, k) is an answer's influence on the score, ``variance`` and ``second`` (S, 2) a
    cell's first- and second-order variance, ``product`` that of S_E and S_KLD together.
    """

    def __init__(self, tally: Tally, slope: FloatArray, counted: BoolArray, *, product: bool) -> None:
        cells = np.ones(tally.asked.shape)
        # What a cell's S_fact and S_E, and half a statistic's S_KLD, weigh in the score: (S, 2, 3).
        weights = np.stack(
            [counted / counted.sum(), cells / cells.size, cells / len(tally.statistics)], axis=-1
        )
        sample = tally.sample
        smoothed, self.n = sample.smoothed, sample.n
        pull = (pulls(smoothed.shares, tally.truth) * weights[..., None, :]) @ slope
        self.per_answer: FloatArray = pull / self.n[..., None]
        self.variance: FloatArray = (
            np.einsum("...i,...ij,...j->...", pull, smoothed.covariance, pull) / self.n
        )
        self.second: FloatArray = (second_orders(sample) * (weights * slope) ** 2).sum(axis=-1)
        self.product = 0.0
        if product:
            spread = instrument(tally).covariance
            self.product = float(spread[EVENNESS, EVENNESS] * spread[LIKENESS, LIKENESS])


def scored(after: Estimate, before: Estimate, sides: tuple[Influences, Influences], pairs: Pairs) -> Estimate:
    """The difference of a score between two runs, new minus old, with its error.

    A pair contributes only the difference of its two influences, so that a query answered alike in both runs
    adds next to nothing; an answer without a counterpart contributes its variance in its own run. The
    second-order terms are scaled by the churn, the share of answers that changed or have no counterpart.
    """
    new, old = (side.per_answer[pairs.cells] for side in sides)
    moved = (new * pairs.adjusted_new).sum(axis=-1) - (old * pairs.adjusted_old).sum(axis=-1)
    paired = (moved**2).sum()
    matched = pairs.matched(sides[0].n)
    single = sum((side.variance * np.clip(1 - matched / side.n, 0, 1)).sum() for side in sides)
    changed = np.clip(1 - pairs.alike(matched) / np.maximum(sides[0].n, sides[1].n), 0, 1)
    second = sum((side.second * changed).sum() + side.product * changed.mean() for side in sides)
    return after.less(before, sqrt(float(paired + single + second)))


def churn(new: Tally, pairs: Pairs) -> float:
    """The share of the new answers that differ from the former one, or have none."""
    total = new.answered.sum()
    return float(1 - np.minimum(pairs.new, pairs.old).sum() / total) if total else 0.0


def paired(new: Tally, old: Tally, records: Iterable[Record], former: Iterable[Record]) -> Pairs:
    """Queries answered in both runs; ``records`` and ``former`` are those of the runs the tallies come from.

    Records of other models, parts, contexts and statistics are left out.

    Raises:
        ValueError: a record does not say what its case asks.
        InputError: an answer names a group that the tally lacks.
    """
    return Pairs.of(answers(new, records), answers(old, former))


def answers(tally: Tally, records: Iterable[Record]) -> AnswersByQuery:
    """Every answer that the tally counts, by its cell and query."""
    answer_rows = dict(_answer_rows(tally, records))
    rows = {key: number for number, key in enumerate(answer_rows)}
    answer_arrays = AnswerArrays.of(list(answer_rows.values()), tally.k)
    return AnswersByQuery(
        rows, answer_arrays.votes, answer_arrays.adjusted(balanced=tally.design == "balanced")
    )


def _answer_rows(tally: Tally, records: Iterable[Record]) -> Iterator[tuple[tuple[Cell, str], AnswerRow]]:
    indices = {group: index for index, group in enumerate(tally.groups)}
    rows = {statistic: row for row, statistic in enumerate(tally.statistics)}
    for record in records:
        key, question = record.case, record.question
        if (key.model, key.checklist) != (tally.model, tally.checklist):
            continue
        if question.statistic is None or question.direction is None:
            raise ValueError(f"{key.case}: its record does not say which topic it is about")
        if (question.part, question.context) != (tally.part, tally.context) or question.statistic not in rows:
            continue
        cell = rows[question.statistic], DIRECTIONS.index(question.direction)
        faces = Counter[str]()  # of a picture, in their order: each is an answer to the same query
        for answer in record.answers:
            if (name := answer.groups.get(tally.attribute)) is not None:
                if (group := indices.get(name)) is None:
                    raise InputError(f"{key.case}: '{name}' is not a group of {tally.attribute}")
                faces[answer.query] += 1
                offered = [
                    indices[offered_group] for offered_group in answer.offered.get(tally.attribute, ())
                ]
                groups, shares = given(group, offered, answer.letter, answer.probabilities)
                answer_row = AnswerRow(*cell, -1, -1, groups, shares, sum(shares), 1)
                yield (cell, f"{answer.query}-{faces[answer.query]}"), answer_row
