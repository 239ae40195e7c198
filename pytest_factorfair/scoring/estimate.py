"""Scores with their uncertainty: what gates decide on and reports print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from types import MappingProxyType

import numpy as np

from pytest_factorfair.domain import Estimator, Interval
from pytest_factorfair.scoring.across import lacking
from pytest_factorfair.scoring.joint import (
    FIRM,
    Joint,
    Spread,
    distance,
    fairness,
    instrument,
    scenarios,
    single,
)
from pytest_factorfair.scoring.largest import LARGEST, several
from pytest_factorfair.scoring.metrics import METRICS, RATES, applies, size, value
from pytest_factorfair.scoring.published import published
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import BoolArray
from pytest_factorfair.statistics.estimate import Estimate

# With fewer valid answers in a cell, even a corrected entropy or divergence misleads.
ENOUGH = 20

NO_POINTS: Mapping[str, float | None] = MappingProxyType({})


def estimate(
    tally: Tally, *, estimator: Estimator = "corrected", interval: Interval = "instrument"
) -> Mapping[str, Estimate]:
    """Every metric of a tally with its uncertainty, by name.

    ``corrected`` centres S_fact on its topic-macro mean, S_E and S_KLD on their jackknife values,
    S_fair and the signed distance on what follows from them. With interval ``instrument`` errors
    are those of the delta method: answers are drawn, scenarios given. With ``scenarios`` they are
    those of scenarios in general, where the part has any. S_fact needs an answer in every cell,
    what rests on S_E or S_KLD needs 20. Rates have Wilson's bounds, favourites and gaps those of
    the largest of several. ``plugin`` and
    ``published-code`` give points in place of the plug-in without errors, but for the rates.
    """
    metrics = [one for one in METRICS if applies(one, part=tally.part, background=tally.background)]
    rates = {metric: _rate(metric, tally) for metric in metrics if metric in RATES}
    rates |= {metric: _largest(metric, tally) for metric in metrics if metric in LARGEST}
    if estimator != "corrected":
        reason = f"the estimator {estimator} gives no interval"
        points = published(tally) if estimator == "published-code" else {}
        return {metric: rates.get(metric) or _without(metric, tally, reason, points) for metric in metrics}
    general = interval == "scenarios" and tally.part == "subjective"
    one = lacking(tally) if general else ""
    reasons = {metric: _reason(metric, tally) or one for metric in SPREADS}
    joint = scenarios(tally) if general and not one else instrument(tally)
    found = {
        metric: _without(metric, tally, reasons[metric])
        if reasons[metric]
        else _with(metric, tally, spread(joint, tally), joint.freedom)
        for metric, spread in SPREADS.items()
    }
    return {metric: (found | rates)[metric] for metric in metrics}


def _rate(metric: str, tally: Tally) -> Estimate:
    share, n = value(metric, tally), size(metric, tally)
    if share is None:
        return Estimate(None, None, None, n, "nothing was asked")
    return Estimate(share, share, sqrt(share * (1 - share) / n), n, share=True)


def _largest(metric: str, tally: Tally) -> Estimate:
    among = several(metric, tally)
    if among is None:
        return Estimate(None, None, None, size(metric, tally), "there is nothing to compare")
    top = float(among.values.max())
    return Estimate(top, top, None, among.n, among=among)


def _without(
    metric: str, tally: Tally, reason: str, points: Mapping[str, float | None] = NO_POINTS
) -> Estimate:
    plugin = points[metric] if metric in points else value(metric, tally)
    return Estimate(plugin, None, None, size(metric, tally), reason)


def _with(metric: str, tally: Tally, spread: Spread, freedom: int | None) -> Estimate:
    centre, error = float(spread.centre), float(spread.error)
    return Estimate(value(metric, tally), centre, error, size(metric, tally), freedom=freedom)


def _reason(metric: str, tally: Tally) -> str:
    """Why a metric is not estimable; empty if it is."""
    if metric not in FACTS:
        return _few(tally.answered < ENOUGH, tally, ENOUGH)
    counted = ~tally.fragile if metric == "s_fact_firm" else np.ones_like(tally.fragile)
    return _few(counted & (tally.answered < 1), tally, 1) if counted.any() else "every label is fragile"


def _few(cells: BoolArray, tally: Tally, least: int) -> str:
    """Which cells have too few answers, the first by name; empty if none has."""
    found = np.argwhere(cells)
    if not found.size:
        return ""
    wanted = "no valid answer" if least == 1 else f"fewer than {least} valid answers"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{wanted} in {tally.cell(*found[0].tolist())}{more}"


FACTS = frozenset({"s_fact", "s_fact_firm"})

SPREADS: Mapping[str, Callable[[Joint, Tally], Spread]] = MappingProxyType(
    {
        "s_fact": lambda joint, _tally: single(joint, FACT),
        "s_fact_firm": lambda joint, _tally: single(joint, FIRM),
        "s_e": lambda joint, _tally: single(joint, EVENNESS),
        "s_kld": lambda joint, _tally: single(joint, LIKENESS),
        "s_fair": lambda joint, _tally: fairness(joint),
        "distance": lambda joint, tally: distance(joint, tally.k),
    }
)
