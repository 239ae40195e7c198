"""S_fact, S_E and S_KLD of a tally with their covariance, and what follows for S_fair and the distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_factorfair.scoring.across import across
from pytest_factorfair.scoring.curve import distance_and_normal
from pytest_factorfair.scoring.fact import right_shares
from pytest_factorfair.scoring.shares import TOPIC_AXES
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS, covariances
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.jackknife import jackknifed_entropies, jackknifed_likenesses

# Behind the three scores of a covariance: S_fact over the labels that rest on no choice of measure.
FIRM = LIKENESS + 1


class Joint(NamedTuple):
    """Centres (..., 4) of S_fact, S_E, S_KLD and firm S_fact, unclipped, and their covariance (..., 4, 4).

    ``freedom`` are the degrees of freedom of Student's distribution, None for the normal. What has
    too few answers is nan, and so may be the covariance of firm S_fact with the others.
    """

    centres: FloatArray
    covariance: FloatArray
    freedom: int | None = None


class Spread(NamedTuple):
    """Centres and their standard errors."""

    centre: FloatArray
    error: FloatArray


def instrument(tally: Tally) -> Joint:
    """The interval ``jack_delta``: topics and scenarios are the instrument, answers are drawn."""
    return jack_delta(tally.counts, tally.truth, firm=~tally.fragile)


def scenarios(tally: Tally) -> Joint:
    """The interval ``scenario_jack``: the same centres, the spread over scenarios in general."""
    return Joint(_centres(tally.counts, tally.truth, ~tally.fragile), *across(tally))


def jack_delta(counts: IntArray, truth: IntArray, *, firm: BoolArray) -> Joint:
    """Jackknife centres with the delta method's covariance, over any leading axes of the counts."""
    spread = np.full((*counts.shape[:-3], FIRM + 1, FIRM + 1), np.nan)
    spread[..., :FIRM, :FIRM], facts = covariances(counts, truth)
    if firm.any():
        spread[..., FIRM, FIRM] = facts[..., firm].sum(axis=-1) / firm.sum() ** 2
    return Joint(_centres(counts, truth, firm), spread)


def _centres(counts: IntArray, truth: IntArray, firm: BoolArray) -> FloatArray:
    right = right_shares(counts, truth)
    missing = np.full(right.shape[:-2], np.nan)
    return np.stack(
        [
            right.mean(axis=TOPIC_AXES),
            jackknifed_entropies(counts).mean(axis=TOPIC_AXES),
            jackknifed_likenesses(counts).mean(axis=-1),
            right[..., firm].mean(axis=-1) if firm.any() else missing,
        ],
        axis=-1,
    )


def single(joint: Joint, score: int) -> Spread:
    """One of the four scores alone."""
    return Spread(joint.centres[..., score], np.sqrt(joint.covariance[..., score, score]))


def fairness(joint: Joint) -> Spread:
    """S_fair by its gradient (1 - S_KLD, 1 - S_E) and the product of their variances, all there is at 1."""
    evenness, likeness = joint.centres[..., EVENNESS], joint.centres[..., LIKENESS]
    gradient = np.stack([1 - likeness, 1 - evenness], axis=-1)
    both = joint.covariance[..., EVENNESS:FIRM, EVENNESS:FIRM]
    product = both[..., 0, 0] * both[..., 1, 1]
    return Spread(1 - (1 - evenness) * (1 - likeness), np.sqrt(_along(gradient, both) + product))


def distance(joint: Joint, k: int) -> Spread:
    """The signed distance, by the normal of the curve: well defined at the curve, too."""
    fact, evenness = joint.centres[..., FACT], joint.centres[..., EVENNESS]
    centre, normal = distance_and_normal(fact, evenness, k)
    variance = _along(normal, joint.covariance[..., :LIKENESS, :LIKENESS])
    return Spread(centre, np.sqrt(variance))


def _along(direction: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...i,...ij,...j->...", direction, covariance, direction))
