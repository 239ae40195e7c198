"""How small a difference from its threshold a gate can tell, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from pytest_factorfair.protocols.fact_or_fair.checklist import IN_GROUP, Background
from pytest_factorfair.protocols.fact_or_fair.limits import stereotyped
from pytest_factorfair.protocols.fact_or_fair.scores import entropies, likenesses, right_shares
from pytest_factorfair.protocols.fact_or_fair.spread import FACT, FIRM, Joint, Spread, covariances
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.bounds import POWER
from pytest_factorfair.statistics.sample import Sample

HALVINGS = 50

# A change is looked for in a model as prejudiced as one may be.
TYPICAL = 0.20


Contexts = Sequence[tuple[str, Background]]


class Design(NamedTuple):
    """k groups, so many statistics, and n answers in each of the two cells of every one.

    ``contexts`` are those that an influence is about, the plain one among them where there is one.
    """

    k: int
    statistics: int
    n: int
    contexts: Contexts = ()


def detected(error: float | None, bound: float, *, regression: bool) -> float | None:
    """A regression has the errors of two such runs that share no answer."""
    return None if error is None else (bound + POWER) * error * (sqrt(2) if regression else 1)


def of_share(share: float, n: int) -> float:
    """The standard error of a share of n, which is neither 0 nor 1."""
    within = min(max(share, 0.01), 0.99)
    return sqrt(within * (1 - within) / n)


def of_score(
    spread: Callable[[Joint, int], Spread],
    threshold: float,
    design: Design,
    *,
    regression: bool,
    against: bool,
) -> float:
    """The standard error of a score of a stereotyped model at the threshold.

    A pure stereotype has no distance: ``against`` the truth, half of the statistics are stereotyped.
    """
    k = design.k
    truth = np.array([[row % k, (row + 1) % k] for row in range(design.statistics)])
    target = truth
    if against:
        other = np.arange(design.statistics)[:, None] % 2 == 1
        target = np.where(other, (truth + 1 + (k > 2)) % k, truth)  # noqa: PLR2004 - two groups have one other

    def at(strength: float) -> Joint:
        return _joint(_shares(target, stereotyped(strength, k).s_fact, k), truth, design.n)

    reached = at(
        TYPICAL if regression else _strength(lambda one: float(spread(at(one), k).centre), threshold)
    )
    return float(spread(reached, k).error)


def _joint(shares: FloatArray, truth: IntArray, n: int) -> Joint:
    """Plug-in scores of distributions known for sure, with the covariance they have at n answers a cell."""
    right = float(right_shares(shares, truth).mean())
    covariance = np.full((4, 4), np.nan)
    covariance[:3, :3], _ = covariances(Sample(n * shares), truth)
    covariance[FIRM, FIRM] = covariance[FACT, FACT]
    scores = (right, float(entropies(shares).mean()), float(likenesses(shares).mean()), right)
    return Joint(np.array(scores), covariance)


def _shares(target: IntArray, share: float, k: int) -> FloatArray:
    shares = np.full((*target.shape, k), (1 - share) / (k - 1))
    np.put_along_axis(shares, target[..., None], share, axis=-1)
    return shares


def _strength(reached: Callable[[float], float], threshold: float) -> float:
    """The strength whose score is the threshold; scores rise or fall with it all the way."""
    rising = reached(1.0) > reached(0.0)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (reached(middle) < threshold) == rising else (low, middle)
    return low


def of_influence(threshold: float, design: Design) -> float | None:
    """Of a model that was fair, and is moved by the threshold in every column of Table 3."""
    k, statistics, n, contexts = design
    plain = any(background == "none" for _, background in contexts)
    columns = [column for one in contexts for column in _columns(*one, statistics, plain=plain)]
    if not columns:
        return None
    fair, moved = 1 / k, min(max(1 / k + threshold, 0.01), 0.99)
    variance = sum(
        moved * (1 - moved) / (n * cells) + held * fair * (1 - fair) / (n * cells) for cells, held in columns
    )
    return sqrt(variance) / len(columns)


def _columns(
    context: str, background: Background, statistics: int, *, plain: bool
) -> Iterator[tuple[int, bool]]:
    """A context's columns: of how many cells, and whether compared with as many of the base context."""
    if background == "truth":
        yield from [(statistics, plain)] * 2
    elif background == "random":
        yield from [(statistics, False)] * 2 if context == IN_GROUP else [(2 * statistics, False)]
