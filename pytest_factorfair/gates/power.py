"""How small a difference from its threshold a gate can tell, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from types import MappingProxyType

import numpy as np

from pytest_factorfair.domain import Gate
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.protocols.fact_or_fair.checklist import IN_GROUP, Background
from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fact import right_shares
from pytest_factorfair.scoring.fair import entropies, likenesses
from pytest_factorfair.scoring.joint import Joint, distance, fairness, single
from pytest_factorfair.scoring.largest import WORST_REFUSAL, WORST_TOPIC
from pytest_factorfair.scoring.metrics import RATES
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS, covariances
from pytest_factorfair.scoring.stereotype import stereotyped
from pytest_factorfair.statistics.arrays import FloatArray, IntArray

POWER = 0.80
HALVINGS = 50
# A change is looked for in a model as prejudiced as one may be.
TYPICAL = 0.20
SCORES = {"s_fact": FACT, "s_fact_firm": FACT, "s_e": EVENNESS, "s_kld": LIKENESS}

Contexts = Sequence[tuple[str, Background]]


def detectable(
    gate: Gate, k: int, *, statistics: int, n: int, bound: float, contexts: Contexts = ()
) -> float | None:
    """The smallest distance from the threshold that is decided four times out of five.

    For a stereotyped model at the threshold, with n answers in each of the two cells of every
    statistic, and a bound of so many standard errors; None for metrics that are not foreseen. A
    pure stereotype has no distance: there half of the statistics are stereotyped against the truth.
    Of a worst topic it is that of one topic on the right side.
    ``contexts`` are those that an influence is about, the plain one among them where there is one.
    A regression has the errors of two such runs that share no answer.
    """
    error = _error(gate, k, statistics, n, contexts)
    if error is None:
        return None
    return (bound + NormalDist().inv_cdf(POWER)) * error * (sqrt(2) if gate.regression else 1)


def _error(gate: Gate, k: int, statistics: int, n: int, contexts: Contexts) -> float | None:
    if gate.metric in RATES:
        share = min(max(gate.threshold, 0.01), 0.99)
        return sqrt(share * (1 - share) / (2 * statistics * n))
    if gate.metric in (WORST_TOPIC, WORST_REFUSAL):
        fair = 1 / k if gate.metric == WORST_TOPIC else 0.0
        share = min(max(fair + gate.threshold, 0.01), 0.99)
        return sqrt(share * (1 - share) / n)
    if gate.metric == INFLUENCE:
        return _influence(gate.threshold, k, statistics, n, contexts)
    joint = _at_threshold(gate, k, statistics, n)
    if joint is None:
        return None
    if gate.metric in SCORES:
        return float(single(joint, SCORES[gate.metric]).error)
    spread = fairness(joint) if gate.metric == "s_fair" else distance(joint, k)
    return float(spread.error)


def _at_threshold(gate: Gate, k: int, statistics: int, n: int) -> Joint | None:
    """The scores of a model at the gate's threshold, and their covariance."""
    truth = np.array([[row % k, (row + 1) % k] for row in range(statistics)])
    target = truth
    if gate.metric == "distance":
        against = np.arange(statistics)[:, None] % 2 == 1
        target = np.where(against, (truth + 1 + (k > 2)) % k, truth)  # noqa: PLR2004 - two groups have one other

    def at(strength: float) -> Joint:
        return _joint(_shares(target, stereotyped(strength, k).s_fact, k), truth, n)

    reached = REACHED.get(gate.metric)
    if reached is None:
        return None
    return at(TYPICAL if gate.regression else _strength(lambda one: reached(at(one), k), gate.threshold))


def _joint(shares: FloatArray, truth: IntArray, n: int) -> Joint:
    """Plug-in scores of distributions known for sure, with the covariance they have at n answers a cell."""
    right = float(right_shares(shares, truth).mean())
    covariance = np.full((4, 4), np.nan)
    covariance[:3, :3], _ = covariances(n * shares, truth)
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


REACHED: Mapping[str, Callable[[Joint, int], float]] = MappingProxyType(
    {
        "s_fact": lambda joint, _k: float(joint.centres[FACT]),
        "s_fact_firm": lambda joint, _k: float(joint.centres[FACT]),
        "s_e": lambda joint, _k: float(joint.centres[EVENNESS]),
        "s_kld": lambda joint, _k: float(joint.centres[LIKENESS]),
        "s_fair": lambda joint, _k: float(fairness(joint).centre),
        "distance": lambda joint, k: float(
            tradeoff_distance(joint.centres[FACT], joint.centres[EVENNESS], k)
        ),
    }
)


def _influence(threshold: float, k: int, statistics: int, n: int, contexts: Contexts) -> float | None:
    """Of a model that was fair, and is moved by the threshold in every column of Table 3."""
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
    """A context's columns: of how many cells, and whether held against as many of the plain context."""
    if background == "truth":
        yield from [(statistics, plain)] * 2
    elif background == "random":
        yield from [(statistics, False)] * 2 if context == IN_GROUP else [(2 * statistics, False)]
