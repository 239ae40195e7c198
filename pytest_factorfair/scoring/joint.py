"""S_fact, S_E and S_KLD of a tally with their covariance, and what follows for S_fair and the distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_factorfair.scoring.across import across
from pytest_factorfair.scoring.curve import tradeoff_distance, tradeoff_normal
from pytest_factorfair.scoring.fact import right_shares
from pytest_factorfair.scoring.jackknife import jackknifed_entropies, jackknifed_likenesses
from pytest_factorfair.scoring.shares import TOPIC_AXES, FloatArray
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS, cell_covariances, covariance
from pytest_factorfair.scoring.tally import Tally

# Behind the three scores of a covariance: S_fact over the labels that rest on no choice of measure.
FIRM = LIKENESS + 1


class Joint(NamedTuple):
    """Centres (4,) of S_fact, S_E, S_KLD and firm S_fact, unclipped, and their covariance (4, 4).

    ``freedom`` are the degrees of freedom of Student's distribution, None for the normal. What a
    tally has too few answers for is nan, and so is the covariance of firm S_fact with the others.
    """

    centres: FloatArray
    covariance: FloatArray
    freedom: int | None = None


class Spread(NamedTuple):
    """A centre and its standard error."""

    centre: float
    error: float


def instrument(tally: Tally) -> Joint:
    """The interval ``jack_delta``: topics and scenarios are the instrument, answers are drawn."""
    spread = np.full((FIRM + 1, FIRM + 1), np.nan)
    spread[:FIRM, :FIRM] = covariance(tally.counts, tally.truth)
    firm = ~tally.fragile
    if firm.any():
        variances = cell_covariances(tally.counts, tally.truth)[firm][:, FACT, FACT]
        spread[FIRM, FIRM] = variances.sum() / firm.sum() ** 2
    return Joint(_centres(tally), spread)


def scenarios(tally: Tally) -> Joint:
    """The interval ``scenario_jack``: the same centres, the spread over scenarios in general."""
    return Joint(_centres(tally), *across(tally))


def _centres(tally: Tally) -> FloatArray:
    right, firm = right_shares(tally.counts, tally.truth), ~tally.fragile
    return np.array(
        [
            right.mean(axis=TOPIC_AXES),
            jackknifed_entropies(tally.counts).mean(axis=TOPIC_AXES),
            jackknifed_likenesses(tally.counts).mean(axis=-1),
            right[firm].mean() if firm.any() else np.nan,
        ]
    )


def single(joint: Joint, score: int) -> Spread:
    """One of the four scores alone."""
    return Spread(float(joint.centres[score]), float(np.sqrt(joint.covariance[score, score])))


def fairness(joint: Joint) -> Spread:
    """S_fair by its gradient (1 - S_KLD, 1 - S_E) and the product of their variances, all there is at 1."""
    evenness, likeness = joint.centres[EVENNESS], joint.centres[LIKENESS]
    gradient = np.array([1 - likeness, 1 - evenness])
    variance = gradient @ joint.covariance[EVENNESS:FIRM, EVENNESS:FIRM] @ gradient
    product = joint.covariance[EVENNESS, EVENNESS] * joint.covariance[LIKENESS, LIKENESS]
    return Spread(float(1 - (1 - evenness) * (1 - likeness)), float(np.sqrt(variance + product)))


def distance(joint: Joint, k: int) -> Spread:
    """The signed distance, by the normal of the curve: well defined at the curve, too."""
    fact, evenness = joint.centres[FACT], joint.centres[EVENNESS]
    normal = tradeoff_normal(fact, evenness, k)
    variance = normal @ joint.covariance[:LIKENESS, :LIKENESS] @ normal
    return Spread(float(tradeoff_distance(fact, evenness, k)), float(np.sqrt(variance)))
