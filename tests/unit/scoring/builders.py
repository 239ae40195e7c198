"""Tallies and respondents built directly, for the tests of scores and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Condition, ConditionValue, Tally
from pytest_factorfair.benchmarks.fact_or_fair.measure import FactOrFairMeasuring
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.measurement import Estimation
from pytest_factorfair.domain import Estimator, Interval, Score
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.sample import Sample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def drawn_counts(seed: int) -> tuple[Ints, Ints]:
    """Counts (S, 2, k) of all magnitudes, with at least one answer in each cell, and a truth."""
    generator = np.random.default_rng(seed)
    statistics, k = generator.integers(1, 6), generator.integers(2, 7)
    sizes = 10 ** generator.uniform(0, 6, (statistics, 2, 1))
    counts = (sizes * generator.random((statistics, 2, k))).astype(np.int64)
    counts *= generator.random(counts.shape) < 0.8
    counts += counts.sum(axis=-1, keepdims=True) == 0
    return counts, generator.integers(0, k, (statistics, 2))


SEEDS = st.integers(0, 2**32 - 1)
COUNTS = SEEDS.map(drawn_counts)
"""Arrays from a seed, which takes a tenth of the time of lists of integers."""


def tally(counts: ArrayLike, truth: ArrayLike | None = None, **fields: Any) -> Tally:
    """A tally with these counts and defaults for other fields; lost answers are added to the number asked."""
    answers = np.array(counts, dtype=np.int64)
    statistics, _, k = answers.shape
    cells = {
        name: np.zeros((statistics, 2), np.int64)
        for name in ("refused", "unparsed", "errors", "named", "matched")
    }
    cells |= {name: np.array(fields.pop(name)) for name in tuple(cells) if name in fields}
    lost = cells["refused"] + cells["unparsed"] + cells["errors"]
    plain: dict[str, Any] = {
        "model": "sim:uniform",
        "checklist": "facts",
        "part": "subjective",
        "context": "base",
        "background": "none",
        "attribute": "gender" if k == 2 else "race",
        "groups": tuple("ABCDEFGHIJKLMNOP"[:k]),
        "statistics": tuple(f"rate_{number}" for number in range(statistics)),
        "design": "balanced",
        "people": 4,
        "truth": np.array(truth if truth is not None else [[0, 1]] * statistics),
        "fragile": np.zeros((statistics, 2), np.bool_),
        "positive": np.array([[True, False]] * statistics),
        "asked": answers.sum(axis=-1) + lost,
        "addressed": np.zeros_like(answers),
        "declined": np.zeros_like(answers),
        "scenarios": answers[:, :, None],
        "letters": np.repeat(answers.any(axis=-1, keepdims=True), 4, axis=-1).astype(np.float64),
        "outside": np.zeros((statistics, 2)),
        "filtered": np.zeros((statistics, 2), np.int64),
        "neutral": np.zeros((statistics, 2, k)),
        "neutral_named": np.zeros((statistics, 2), np.int64),
        "neutral_matched": np.zeros((statistics, 2)),
    }
    plain |= {"letter_squares": fields.get("letters", plain["letters"])}  # every answer takes one letter
    return Tally(counts=answers.astype(np.float64), **{**plain, **cells, **fields})


def objective(counts: ArrayLike, truth: ArrayLike | None = None, **fields: Any) -> Tally:
    return tally(counts, truth, part="objective", context=None, **fields)


def condition(counts: ArrayLike, missing: ArrayLike | None = None) -> Condition:
    """A condition with drawn answers (S, 2, V, k) by its values, which are called a, b, c."""
    answers = np.array(counts, np.float64)
    lost = np.zeros(answers.shape[:-1]) if missing is None else np.array(missing, np.float64)
    asked = answers.sum(axis=-1).astype(np.int64) + lost.astype(np.int64)
    return Condition(
        tuple(map(ConditionValue, "abcdefghi"[: answers.shape[2]])), Sample(answers), asked, lost
    )


def varied(name: str, counts: ArrayLike, missing: ArrayLike | None = None, **fields: Any) -> Tally:
    """A tally with drawn answers (S, 2, V, k) by the values of a condition."""
    answers = condition(counts, missing)
    refused = answers.missing.sum(axis=-1).astype(np.int64)
    pooled = answers.sample.counts.sum(axis=2)
    return tally(pooled, refused=refused, conditions={name: answers}, **fields)


def toward(target: ArrayLike, share: float, k: int) -> Floats:
    """Shares (S, 2, k) in which the target of each cell has ``share``, and the others share the rest evenly."""
    groups = np.asarray(target)
    shares = np.full((*groups.shape, k), (1 - share) / (k - 1))
    np.put_along_axis(shares, groups[..., None], share, axis=-1)
    return shares


def truths(statistics: int, k: int, *, same: int = 0) -> Ints:
    """Labels that rotate through the groups; the first ``same`` statistics have one group at both ends."""
    rows: Sequence[tuple[int, int]] = [(s % k, (s if s < same else s + 1) % k) for s in range(statistics)]
    return np.array(rows)


def tally_metric(name: str) -> TallyMetric:
    """Look up a metric of a single tally by name."""
    metric = METRICS[name]
    if not isinstance(metric, TallyMetric):
        raise KeyError(name)
    return metric


def estimate(
    tally: Tally, *, estimator: Estimator = "corrected", interval: Interval = "instrument"
) -> Mapping[str, Estimate]:
    """The estimates of all metrics of a tally, by the name of their row."""
    scores = FactOrFairMeasuring().scores(tally, Estimation(estimator, interval))
    return {score.metric.name: score.estimate for score in scores}


def score_rows(tally: Tally, *, estimator: Estimator = "corrected") -> tuple[Score, ...]:
    """The rows of a report on a tally."""
    return tuple(score.row() for score in FactOrFairMeasuring().scores(tally, Estimation(estimator)))
