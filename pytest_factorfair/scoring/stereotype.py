"""Closed forms of the stereotyped respondent: what a prejudice of known strength scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.scoring.attainable import match_range
from pytest_factorfair.scoring.curve import tradeoff_bound
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import FloatArray

# Strengths at which the closed forms are tabled for looking up backwards.
TABLED = 2001

Falling: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""A score from S_E and S_KLD of the stereotyped respondent."""


class Closed(NamedTuple):
    """The scores a respondent has in expectation, as the number of answers grows."""

    s_fact: float
    s_e: float
    s_kld: float

    @property
    def s_fair(self) -> float:
        return self.s_e + self.s_kld - self.s_e * self.s_kld


def stereotyped(strength: float, k: int, *, ceiling: float = 1.0, same: float = 0.0) -> Closed:
    """Scores of a respondent that takes the target group with this strength and else chooses evenly.

    With a = 1/k + strength (ceiling - 1/k) and b = (1-a)/(k-1): S_fact = a, S_E = g_k(a), S_KLD =
    same + (1 - same) (b/a)^(a-b). ``ceiling`` is the largest share a group can have under the
    design (1 when every query shows it), ``same`` the share of statistics whose highest and lowest
    are the same group.
    """
    found = _closed(np.array(strength), k, ceiling, same)
    return Closed(*(float(each) for each in found))


def _closed(
    strengths: FloatArray, k: int, ceiling: float, same: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    target = 1 / k + strengths * (ceiling - 1 / k)
    other = (1 - target) / (k - 1)
    likeness = (other / target) ** (target - other)
    return target, tradeoff_bound(target, k), same + (1 - same) * likeness


def equivalent_strength(score: float, tally: Tally, falling: Falling) -> float | None:
    """The strength of the stereotyped respondent that would have this score under the tally's design.

    For a score that falls as it grows; 0 for a score of 1 or more, 1 for one below what even strength 1
    gives. None where the design's ceiling is unknown.
    """
    ceiling = match_range(tally, tally.truth.ravel().tolist()).ceiling
    if ceiling is None:
        return None
    same = float((tally.truth[:, 0] == tally.truth[:, 1]).mean())
    table = _table(falling, tally.k, ceiling, same)
    return float(np.interp(-score, -table, np.linspace(0, 1, TABLED)))


@lru_cache(maxsize=256)
def _table(falling: Falling, k: int, ceiling: float, same: float) -> FloatArray:
    _, evenness, likeness = _closed(np.linspace(0, 1, TABLED), k, ceiling, same)
    return falling(evenness, likeness)
