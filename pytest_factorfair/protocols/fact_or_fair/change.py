"""How scores changed between two runs: what the same question was answered, and how sure a change is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import sqrt
from typing import TypeAlias

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Record
from pytest_factorfair.protocols.fact_or_fair.spread import (
    EVENNESS,
    LIKENESS,
    instrument,
    pulls,
    second_orders,
)
from pytest_factorfair.protocols.fact_or_fair.tally import Tally
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate

Cell: TypeAlias = tuple[int, int]

Answers: TypeAlias = tuple[tuple[Cell, str, int], ...]


class Influences:
    """One run's part: what each answer, each cell and the curvature contribute to a score's variance.

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
        spread = instrument(tally).covariance
        self.product = float(spread[EVENNESS, EVENNESS] * spread[LIKENESS, LIKENESS]) if product else 0.0


def scored(
    after: Estimate, before: Estimate, sides: tuple[Influences, Influences], joint: IntArray
) -> Estimate:
    """New less old, with the error of that difference.

    ``joint`` (S, 2, k, k) counts the queries answered in both runs, by former and new answer. Of a
    pair only the difference of its two influences varies, so that a query answered alike in both
    adds next to nothing; what is in one run alone varies as it does there. The second-order terms
    are scaled by the churn, the share of answers that changed or have no counterpart.
    """
    new, old = (side.per_answer for side in sides)
    paired = (joint * (new[..., None, :] - old[..., :, None]) ** 2).sum()
    alone = [joint.sum(axis=-2), joint.sum(axis=-1)]
    single = sum(
        (side.variance * np.clip(1 - matched.sum(axis=-1) / side.n, 0, 1)).sum()
        for side, matched in zip(sides, alone, strict=True)
    )
    same = np.trace(joint, axis1=-2, axis2=-1)
    changed = np.clip(1 - same / np.maximum(sides[0].n, sides[1].n), 0, 1)
    second = sum((side.second * changed).sum() + side.product * changed.mean() for side in sides)
    return after.less(before, sqrt(float(paired + single + second)))


def of_rates(after: Estimate, before: Estimate) -> Estimate:
    """Independent shares of what was asked; one more of either kind, so that none has an error of 0."""
    n = min(after.n, before.n)
    if after.plugin is None or before.plugin is None:
        return Estimate(None, None, None, n, "nothing was asked")
    variance = 0.0
    for one in (after, before):
        near = (one.plugin * one.n + 1) / (one.n + 2) if one.plugin is not None else 0.0
        variance += near * (1 - near) / (one.n + 2)
    difference = after.plugin - before.plugin
    return Estimate(difference, difference, sqrt(variance), n)


def churn(new: Tally, joint: IntArray) -> float:
    """The share of the new answers that differ from the former one, or have none."""
    kept = np.trace(joint, axis1=-2, axis2=-1).sum()
    total = new.answered.sum()
    return float(1 - kept / total) if total else 0.0


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
    groups = {group: place for place, group in enumerate(tally.groups)}
    cells: dict[str, Cell] = {}  # by the ids of their cases, without the scenario's number
    for row, column in np.ndindex(tally.asked.shape):
        statistic, way = tally.statistics[row], DIRECTIONS[column]
        if tally.context is not None:
            cells[f"{tally.part}-{statistic}-{way}-{tally.context}"] = row, column
            continue
        cells[f"{tally.part}-{statistic}-{tally.attribute}-{way}"] = row, column
        cells[f"{tally.part}-{statistic}-{way}"] = row, column  # a picture shows all attributes
    found = []
    for record in records:
        key = record.case
        cell = cells.get(key.case if tally.context is None else key.case.rpartition("-")[0])
        if cell is None or (key.model, key.checklist) != (tally.model, tally.checklist):
            continue
        faces = Counter[str]()  # of a picture, in their order: each is an answer to the same query
        for answer in record.answers:
            if (group := groups.get(answer.groups.get(tally.attribute, ""))) is not None:
                faces[answer.query] += 1
                found.append((cell, f"{answer.query}-{faces[answer.query]}", group))
    return tuple(found)
