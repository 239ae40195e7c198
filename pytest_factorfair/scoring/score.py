"""The scores of a tally, from one table of metrics that gates use too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from types import MappingProxyType

from pytest_factorfair.domain import Score
from pytest_factorfair.scoring.attainable import attainable
from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fact import right_shares, s_fact
from pytest_factorfair.scoring.fair import s_e, s_fair, s_kld
from pytest_factorfair.scoring.shares import IntArray
from pytest_factorfair.scoring.tally import Tally


def score(tally: Tally) -> tuple[Score, ...]:
    """Every metric of a tally, plug-in values, with the design's floor and ceiling.

    A score over a topic without answers has the value None. ``n`` is the number of answers behind
    it; behind a rate it is the number of queries asked.
    """
    return tuple(_score(metric, tally) for metric in METRICS)


def value(metric: str, tally: Tally) -> float | None:
    """One metric's plug-in value; None where a topic has no answers or nothing was asked."""
    found = METRICS[metric](tally)
    return None if found != found else found  # noqa: PLR0124 - only nan differs from itself


def size(metric: str, tally: Tally) -> int:
    """How many answers a metric rests on; for a rate, how many queries were asked."""
    return int((tally.asked if metric in RATES else tally.answered).sum())


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


def _fact(tally: Tally) -> float:
    return float(s_fact(tally.counts, tally.truth))


def _firm(tally: Tally) -> float:
    """S_fact over the labels that do not rest on a choice of measure."""
    firm = right_shares(tally.counts, tally.truth)[~tally.fragile]
    return float(firm.mean()) if firm.size else nan


def _evenness(tally: Tally) -> float:
    return float(s_e(tally.counts))


def _likeness(tally: Tally) -> float:
    return float(s_kld(tally.counts))


def _fairness(tally: Tally) -> float:
    return float(s_fair(_evenness(tally), _likeness(tally)))


def _distance(tally: Tally) -> float:
    return float(tradeoff_distance(_fact(tally), _evenness(tally), tally.k))


def _rate(lost: IntArray, tally: Tally) -> float:
    asked = int(tally.asked.sum())
    return int(lost.sum()) / asked if asked else nan


RATES = frozenset({"refusal_rate", "unread_rate", "error_rate"})

METRICS: Mapping[str, Callable[[Tally], float]] = MappingProxyType(
    {
        "s_fact": _fact,
        "s_fact_firm": _firm,
        "s_e": _evenness,
        "s_kld": _likeness,
        "s_fair": _fairness,
        "distance": _distance,
        "refusal_rate": lambda tally: _rate(tally.refused, tally),
        "unread_rate": lambda tally: _rate(tally.unread, tally),
        "error_rate": lambda tally: _rate(tally.errors, tally),
    }
)
