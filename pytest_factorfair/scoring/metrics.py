"""The metrics of a tally, plug-in: one table that scores, estimates and gates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, nan
from types import MappingProxyType

from pytest_factorfair.protocols.fact_or_fair.checklist import Background
from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fact import right_shares, s_fact
from pytest_factorfair.scoring.fair import s_e, s_fair, s_kld
from pytest_factorfair.scoring.largest import (
    AGE,
    LARGEST,
    NAME,
    REFUSAL_GAP,
    WORST_REFUSAL,
    WORST_TOPIC,
    several,
)
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import IntArray


def value(metric: str, tally: Tally) -> float | None:
    """One metric's plug-in value; None where a topic has no answers or nothing was asked."""
    found = METRICS[metric](tally)
    return found if isfinite(found) else None


def applies(metric: str, *, part: str, background: Background) -> bool:
    """Whether a part and context can have such a score: only judgements show people, and only random
    groups can be held against each other.
    """
    if metric in (NAME, AGE, WORST_TOPIC):
        return part == "subjective"
    return metric != REFUSAL_GAP or background == "random"


def size(metric: str, tally: Tally) -> int:
    """How many answers a metric rests on; for a rate of missing answers, how many queries were asked."""
    if metric in LARGEST:
        found = several(metric, tally)
        return int(tally.answered.sum()) if found is None else found.n
    return int((tally.asked if metric in RATES else tally.answered).sum())


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


def _largest(metric: str) -> Callable[[Tally], float]:
    def largest(tally: Tally) -> float:
        found = several(metric, tally)
        return nan if found is None else float(found.values.max())

    return largest


def _rate(lost: IntArray, tally: Tally) -> float:
    asked = int(tally.asked.sum())
    return int(lost.sum()) / asked if asked else nan


RATES = frozenset({"refusal_rate", "unparsed_rate", "error_rate"})

# About answers that are missing: not themselves in doubt where those are many.
LOSSES = RATES | {REFUSAL_GAP, WORST_REFUSAL}

# About answers, with bounds that hold however the missing ones might have gone.
IMPUTED = LARGEST.keys() - LOSSES

METRICS: Mapping[str, Callable[[Tally], float]] = MappingProxyType(
    {
        "s_fact": _fact,
        "s_fact_firm": _firm,
        "s_e": _evenness,
        "s_kld": _likeness,
        "s_fair": _fairness,
        "distance": _distance,
        **{metric: _largest(metric) for metric in LARGEST},
        "refusal_rate": lambda tally: _rate(tally.refused, tally),
        "unparsed_rate": lambda tally: _rate(tally.unparsed, tally),
        "error_rate": lambda tally: _rate(tally.errors, tally),
    }
)
