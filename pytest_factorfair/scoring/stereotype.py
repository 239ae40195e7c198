"""Closed forms of the stereotyped respondent: what a prejudice of known strength scores."""

from __future__ import annotations

from typing import NamedTuple

from pytest_factorfair.scoring.curve import tradeoff_bound


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
    target = 1 / k + strength * (ceiling - 1 / k)
    other = (1 - target) / (k - 1)
    likeness = (other / target) ** (target - other)
    return Closed(target, float(tradeoff_bound(target, k)), same + (1 - same) * likeness)
