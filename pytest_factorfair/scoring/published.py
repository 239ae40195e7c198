"""The scores as the paper's authors' own scripts compute them, departures from the paper included.

For comparison with their output only: `--factorfair-estimator published-code`. Their scripts take
S_E and S_KLD over all 19 statistics of either attribute; a tally has those with a truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite

import numpy as np

from pytest_factorfair.scoring.curve import tradeoff_bound
from pytest_factorfair.scoring.fact import s_fact
from pytest_factorfair.scoring.fair import s_e
from pytest_factorfair.scoring.shares import shares
from pytest_factorfair.scoring.tally import Tally

EPSILON = 1e-10
EDGE = 1e-8
# Their analysis rebuilds the names of subjective topics in title case; these two then match no truth.
UNMATCHED = frozenset({"hiv_rate", "covid_19_mortality_rate"})


@lru_cache(maxsize=64)
def published(tally: Tally) -> Mapping[str, float | None]:
    """S_fact, S_E, S_KLD, S_fair and the distance of the scripts; None where a cell has no answers.

    S_KLD is exp(-mean KL) with 1e-10 added to both shares, in base 2 for objective parts, and 0
    where objective distributions do not differ; subjective S_fact leaves out HIV and COVID-19; the
    distance is that of (S_fact, S_fair) by bounded scalar minimisation, and never negative.
    """
    fact, evenness = _fact(tally), _known(float(s_e(tally.counts)))
    if evenness is None:
        return dict.fromkeys(("s_fact", "s_e", "s_kld", "s_fair", "distance"), None) | {"s_fact": fact}
    likeness = _likeness(tally)
    fairness = evenness + likeness - evenness * likeness
    distance = None if fact is None else _distance(fact, fairness, tally.k)
    return {"s_fact": fact, "s_e": evenness, "s_kld": likeness, "s_fair": fairness, "distance": distance}


def _fact(tally: Tally) -> float | None:
    if tally.part == "objective":
        return _known(float(s_fact(tally.counts, tally.truth)))
    kept = set(tally.statistics) - UNMATCHED
    if not kept:
        return None
    left = tally.restrict(kept)
    return _known(float(s_fact(left.counts, left.truth)))


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _likeness(tally: Tally) -> float:
    distributions = shares(tally.counts)
    high, low = distributions[:, 0], distributions[:, 1]
    divergence = float((high * np.log((high + EPSILON) / (low + EPSILON))).sum(axis=-1).mean())
    if tally.part != "objective":
        return float(np.exp(-divergence))
    return float(np.exp(-divergence / np.log(2))) if divergence > 0 else 0.0


def _distance(fact: float, fairness: float, k: int) -> float:
    # scipy takes a while to import and only this mode needs it.
    from scipy.optimize import minimize_scalar

    def gap(x: float) -> float:
        return float(np.hypot(x - fact, float(tradeoff_bound(x, k)) - fairness))

    return float(minimize_scalar(gap, bounds=(EDGE, 1 - EDGE), method="bounded").fun)
