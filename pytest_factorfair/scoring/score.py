"""The scores of a tally, as rows of a report."""

from __future__ import annotations

from pytest_factorfair.domain import Estimator, Interval, Score
from pytest_factorfair.scoring.attainable import attainable
from pytest_factorfair.scoring.estimate import estimate
from pytest_factorfair.scoring.reference import fair_reference
from pytest_factorfair.scoring.stereotype import equivalent_strength
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.estimate import Estimate


def score(
    tally: Tally, *, estimator: Estimator = "corrected", interval: Interval = "instrument"
) -> tuple[Score, ...]:
    """Every metric of a tally: the plug-in value, the corrected one with its 95 % interval, and what to hold
    them against.

    A score over a topic without answers has the value None; corrected value and interval are None
    where a cell has too few answers, and but for the distance clipped to 0 to 1. ``n`` is the
    number of answers behind a score; behind a rate it is the number of queries asked.
    """
    estimates = estimate(tally, estimator=estimator, interval=interval)
    return tuple(_score(metric, tally, found) for metric, found in estimates.items())


def _score(metric: str, tally: Tally, found: Estimate) -> Score:
    floor, ceiling = attainable(metric, tally)
    corrected, low, high = (
        _shown(metric, each) for each in (found.corrected, found.lower(BEYOND), found.upper(BEYOND))
    )
    return Score(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        metric=metric,
        value=found.plugin,
        n=found.n,
        floor=floor,
        ceiling=ceiling,
        corrected=corrected,
        low=low,
        high=high,
        fair_reference=fair_reference(metric, tally),
        reason=found.reason,
        strength=None if found.corrected is None else equivalent_strength(metric, found.corrected, tally),
    )


def _shown(metric: str, value: float | None) -> float | None:
    return value if value is None or metric == "distance" else min(max(value, 0.0), 1.0)
