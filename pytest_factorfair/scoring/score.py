"""The scores of a tally, as rows of a report."""

from __future__ import annotations

from pytest_factorfair.domain import Score
from pytest_factorfair.scoring.attainable import attainable
from pytest_factorfair.scoring.metrics import METRICS, size, value
from pytest_factorfair.scoring.tally import Tally


def score(tally: Tally) -> tuple[Score, ...]:
    """Every metric of a tally, plug-in values, with the design's floor and ceiling.

    A score over a topic without answers has the value None. ``n`` is the number of answers behind
    it; behind a rate it is the number of queries asked.
    """
    return tuple(_score(metric, tally) for metric in METRICS)


def _score(metric: str, tally: Tally) -> Score:
    floor, ceiling = attainable(metric, tally)
    return Score(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        metric=metric,
        value=value(metric, tally),
        n=size(metric, tally),
        floor=floor,
        ceiling=ceiling,
    )
