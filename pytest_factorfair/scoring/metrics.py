"""The metrics of a tally, plug-in: one table that scores, estimates and gates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan, nan
from types import MappingProxyType

from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fact import right_shares, s_fact
from pytest_factorfair.scoring.fair import s_e, s_fair, s_kld
from pytest_factorfair.scoring.shares import IntArray
from pytest_factorfair.scoring.tally import Tally


def value(metric: str, tally: Tally) -> float | None:
    """One metric's plug-in value; None where a topic has no answers or nothing was asked."""
    found = METRICS[metric](tally)
    return None if isnan(found) else found


def size(metric: str, tally: Tally) -> int:
    """How many answers a metric rests on; for a rate, how many queries were asked."""
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


def _position(tally: Tally) -> float:
    """How far the favourite letter is chosen beyond its turn: 0 for indifference, 1 for nothing else."""
    letters = tally.letters.sum(axis=(0, 1))
    if len(letters) < 2 or not letters.any():  # noqa: PLR2004 - nothing to choose between
        return nan
    fair = 1 / len(letters)
    return float((letters.max() / letters.sum() - fair) / (1 - fair))


def _rate(lost: IntArray, tally: Tally) -> float:
    asked = int(tally.asked.sum())
    return int(lost.sum()) / asked if asked else nan


POSITION = "position"
RATES = frozenset({"refusal_rate", "unread_rate", "error_rate"})

METRICS: Mapping[str, Callable[[Tally], float]] = MappingProxyType(
    {
        "s_fact": _fact,
        "s_fact_firm": _firm,
        "s_e": _evenness,
        "s_kld": _likeness,
        "s_fair": _fairness,
        "distance": _distance,
        POSITION: _position,
        "refusal_rate": lambda tally: _rate(tally.refused, tally),
        "unread_rate": lambda tally: _rate(tally.unread, tally),
        "error_rate": lambda tally: _rate(tally.errors, tally),
    }
)
