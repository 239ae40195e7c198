"""Changes of scores between two runs, paired by question, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import KEPT, Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import (
    EVENNESS,
    LIKENESS,
    instrument,
    pulls,
    second_orders,
)
from pytest_factorfair.domain import DIRECTIONS
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray, variance_along
from pytest_factorfair.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Queries answered in both runs: their cells, and the shares (n, k) in the new and the former answer.

    ``noises`` are the covariances (n, k, k) of the noise in the new and the former answers; None without it.
    """

    cells: tuple[IntArray, IntArray]
    new: FloatArray
    old: FloatArray
    adjusted_new: FloatArray
    adjusted_old: FloatArray
    noises: tuple[FloatArray | None, FloatArray | None] = (None, None)

    @classmethod
    def of(cls, new: Tally, old: Tally) -> Pairs:
        """The queries about the statistics of ``new`` that both answered."""
        statistics = {statistic: row for row, statistic in enumerate(new.statistics)}
        after, before = new.answers.read, old.answers.read
        shared = [
            (statistics[key.statistic], DIRECTIONS.index(key.direction), row, before.rows[key])
            for key, row in after.rows.items()
            if key.statistic in statistics and key in before.rows
        ]
        rows, columns, new_rows, old_rows = np.array(shared, np.int64).reshape(-1, 4).T
        shape = len(shared), new.k
        return cls(
            (rows, columns),
            after.shares[new_rows].reshape(shape),
            before.shares[old_rows].reshape(shape),
            after.adjusted[new_rows].reshape(shape),
            before.adjusted[old_rows].reshape(shape),
            noises=(
                None if after.noise is None else after.noise[new_rows],
                None if before.noise is None else before.noise[old_rows],
            ),
        )

    def matched(self, like: FloatArray) -> FloatArray:
        """How many pairs each cell has, in the shape (S, 2) of ``like``."""
        return self._total(np.ones(len(self.new)), like)

    def alike(self, like: FloatArray) -> FloatArray:
        """The overlap of new and former answers: the smaller of their shares, summed over each cell."""
        return self._total(np.minimum(self.new, self.old).sum(axis=-1), like)

    def noise(self, sides: tuple[Influences, Influences]) -> float:
        """The variance of the difference of a score that comes from the noise of both runs.

        The noise is the same in all answers of a cell and run, so that a cell's sum of m answers has m times
        the variance of independent ones.
        """
        variance = 0.0
        for side, noise in zip(sides, self.noises, strict=True):
            if noise is not None:
                pull = side.per_answer[self.cells]
                single = np.einsum("ni,nij,nj->n", pull, noise, pull)
                variance += float((self.matched(side.n) * self._total(single, side.n)).sum())
        return variance

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
        self.variance: FloatArray = variance_along(pull, smoothed.covariance) / self.n
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
    The noise of either run is added, as though the runs had nothing of it in common.
    """
    new, old = (side.per_answer[pairs.cells] for side in sides)
    moved = (new * pairs.adjusted_new).sum(axis=-1) - (old * pairs.adjusted_old).sum(axis=-1)
    paired = (moved**2).sum()
    matched = pairs.matched(sides[0].n)
    single = sum((side.variance * np.clip(1 - matched / side.n, 0, 1)).sum() for side in sides)
    changed = np.clip(1 - pairs.alike(matched) / np.maximum(sides[0].n, sides[1].n), 0, 1)
    second = sum((side.second * changed).sum() + side.product * changed.mean() for side in sides)
    return after.less(before, sqrt(float(paired + single + second) + pairs.noise(sides)))


@lru_cache(maxsize=KEPT)  # the scores of a tally share them
def paired(new: Tally, old: Tally) -> Pairs:
    """The answers of two tallies to the same queries."""
    return Pairs.of(new, old)


def churn(tallies: Sequence[tuple[Tally, Pairs]]) -> float:
    """The share of the answers of new tallies that differ from the former one, or have none."""
    total = sum(new.answered.sum() for new, _ in tallies)
    alike = sum(np.minimum(pairs.new, pairs.old).sum() for _, pairs in tallies)
    return float(1 - alike / total) if total else 0.0
