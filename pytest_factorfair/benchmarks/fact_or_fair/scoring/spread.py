"""Compute scores and their covariance from counts; only this module models how answers vary.

shares → pulls (how each score follows the shares of a cell) → covariances; then what follows for S_fair and
the distance. Changes, power and influence take their variances from here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import (
    TOPIC_AXES,
    distance_and_normal,
    right_shares,
)
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray, variance_along
from pytest_factorfair.statistics.jackknife import jackknifed_entropies, jackknifed_likenesses
from pytest_factorfair.statistics.sample import Sample

# The scores of a covariance, in this order.
FACT, EVENNESS, LIKENESS = range(3)


def pulls(p: FloatArray, truth: IntArray) -> FloatArray:
    """The influence function: how an answer of each group pulls each score of its statistic.

    Of shape (..., statistics, 2, k, 3) for S_fact and S_E of its cell and S_KLD of its statistic, on
    shares p (highest) and q (lowest) that are never 0; X = exp(-KL):
    1[truth] - p_t; -log p_i / log k - H; highest -X (log p_i/q_i - KL), lowest X (p_i/q_i - 1).
    Their mean over the shares of a cell is 0.
    """
    k = p.shape[-1]
    logarithm = np.log(p)
    right = np.asarray(truth)[..., None] == np.arange(k)
    fact = right - (p * right).sum(axis=-1, keepdims=True)
    surprise = -logarithm / np.log(k)
    evenness = surprise - (p * surprise).sum(axis=-1, keepdims=True)
    gain = logarithm[..., 0, :] - logarithm[..., 1, :]
    divergence = (p[..., 0, :] * gain).sum(axis=-1, keepdims=True)
    likeness = np.exp(-divergence)
    high, low = -likeness * (gain - divergence), likeness * (np.exp(gain) - 1)
    return np.stack([fact, evenness, np.stack([high, low], axis=-2)], axis=-1)


def second_orders(sample: Sample) -> FloatArray:
    """Each cell's variance of second order, (..., statistics, 2, 3), without which errors vanish at uniform.

    With t = tr((diag(1/p) covariance)^2), which is k - 1 for groups that were drawn: t / (2 n^2 log^2 k) for
    an entropy, (sqrt(t_h) / n_h + sqrt(t_l) / n_l)^2 exp(-2 KL) / 2 for a divergence, half of it in either
    cell; 0 for a share of right answers.
    """
    smoothed, n = sample.smoothed, sample.n
    p, surprise = smoothed.shares, smoothed.surprise
    squared = np.einsum("...ij,...ji->...", surprise, surprise)
    entropy = squared / (2 * (n * np.log(p.shape[-1])) ** 2)
    divergence = (p[..., 0, :] * np.log(p[..., 0, :] / p[..., 1, :])).sum(axis=-1)
    likeness = (np.sqrt(squared) / n).sum(axis=-1) ** 2 * np.exp(-2 * divergence) / 4
    return np.stack([np.zeros_like(n), entropy, np.broadcast_to(likeness[..., None], n.shape)], axis=-1)


def entropy_variances(sample: Sample) -> FloatArray:
    """The variance of each cell's entropy over log k, for cells of any shape: delta method and second order.

    sum over groups of p_i IF_i^2 / n + (k-1) / (2 n^2 log^2 k) for groups that were drawn.
    """
    smoothed, k = sample.smoothed, sample.counts.shape[-1]
    p = smoothed.shares
    surprise = -np.log(p) / np.log(k)
    pull = surprise - (p * surprise).sum(axis=-1, keepdims=True)
    first_order = variance_along(pull, smoothed.covariance) / sample.n
    second_order = np.einsum("...ij,...ji->...", smoothed.surprise, smoothed.surprise)
    return np.asarray(first_order + second_order / (2 * (sample.n * np.log(k)) ** 2))


def cell_covariances(sample: Sample, truth: IntArray) -> FloatArray:
    """Each cell's part of the covariance of (S_fact, S_E, S_KLD), of shape (..., statistics, 2, 3, 3).

    The delta method, and the variances of second order. The part is that of a cell's own S_fact and S_E, and
    of its statistic's S_KLD.
    """
    smoothed = sample.smoothed
    pull = pulls(smoothed.shares, truth)
    first_order = pull.swapaxes(-1, -2) @ smoothed.covariance @ pull / sample.n[..., None, None]
    return np.asarray(first_order + second_orders(sample)[..., None] * np.eye(LIKENESS + 1))


def covariances(sample: Sample, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """The covariance of S_fact, S_E and S_KLD of a run, and the variances of right answers.

    The shapes are (..., 3, 3) and, for each cell's share of right answers, (..., statistics, 2).

    Topics are fixed; answers are independent, and cells may be of unequal size.
    """
    parts = cell_covariances(sample, truth)
    statistics = parts.shape[-4]
    # S_fact and S_E are means over 2S cells, S_KLD over S statistics.
    weights = np.array([0.5, 0.5, 1.0]) / statistics
    return parts.sum(axis=(-4, -3)) * np.outer(weights, weights), parts[..., FACT, FACT]


# Scenarios a statistic needs, and answers each direction must keep when one of them is left out.
LEAST = 2


class ScenarioCovariance(NamedTuple):
    """The covariance (4, 4) of S_fact, S_E, S_KLD and firm S_fact over scenarios; its degrees of freedom."""

    covariance: FloatArray
    freedom: int


def lacking(tally: Tally) -> str:
    """A statistic that cannot spare a scenario; empty if all can."""
    used, remaining = _used(tally), _without(tally).sum(axis=-1).min(axis=-1)
    short = (used.sum(axis=-1) < LEAST) | (used & (remaining < LEAST)).any(axis=-1)
    if not short.any():
        return ""
    return f"answers from fewer than {LEAST} scenarios in {tally.statistics[int(np.argmax(short))]}"


def across(tally: Tally) -> ScenarioCovariance:
    """The interval ``scenario_jack``: leave out one scenario of a statistic, in both directions, in turn.

    Statistics are strata: each adds (m-1)/m times the squared deviations of its m values without
    one scenario, and m-1 degrees of freedom. Answers vary without a scenario as they do with all of them, so
    that the bias of each value is that of its cells' design effect.
    """
    used, counts_without = _used(tally)[..., None], _without(tally)
    m = counts_without.shape[1]
    rows = counts_without.reshape(-1, *counts_without.shape[2:])
    effect = np.repeat(tally.sample.design_effect, m, axis=0)
    right, firm = right_shares(rows, np.repeat(tally.truth, m, axis=0)), np.repeat(~tally.fragile, m, axis=0)
    scale = len(tally.statistics) / max(1, int((~tally.fragile).sum()))
    scores = (
        right.mean(axis=-1),
        jackknifed_entropies(rows, effect=effect).mean(axis=-1),
        jackknifed_likenesses(rows, effect=effect),
        np.where(firm, right, 0.0).sum(axis=-1) * scale,
    )
    values = np.where(used, np.stack(scores, axis=-1).reshape(-1, m, len(scores)), 0.0)
    scenarios = used.sum(axis=1, keepdims=True)
    centred = np.where(used, values - values.sum(axis=1, keepdims=True) / scenarios, 0.0)
    centred = centred * np.sqrt((scenarios - 1) / scenarios)
    flat = centred.reshape(-1, len(scores)) / len(tally.statistics)
    return ScenarioCovariance(flat.T @ flat, int((scenarios - 1).sum()))


def _used(tally: Tally) -> BoolArray:
    """Which scenarios of a statistic have answers in both directions, (S, scenarios)."""
    return np.asarray((tally.scenarios.sum(axis=-1) > 0).all(axis=1))


def _without(tally: Tally) -> IntArray:
    """Counts without each scenario in turn, (S, scenarios, 2, k)."""
    return np.asarray(tally.counts[:, None] - tally.scenarios.swapaxes(1, 2))


# Behind the three scores of a covariance: S_fact over the labels that rest on no choice of measure.
FIRM = LIKENESS + 1


class JointEstimate(NamedTuple):
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


def instrument(tally: Tally) -> JointEstimate:
    """The interval ``jack_delta``: topics and scenarios are the instrument, answers are drawn."""
    return jack_delta(tally.sample, tally.truth, firm=~tally.fragile)


def scenarios(tally: Tally) -> JointEstimate:
    """The interval ``scenario_jack``: the same centres, the spread over scenarios in general."""
    sample, firm = tally.sample, ~tally.fragile
    covariance, freedom = across(tally)
    if sample.noise is not None:  # the scenarios of a topic may share it
        noise = Sample(sample.counts, np.zeros_like(sample.noise), sample.noise)
        covariance = covariance + np.nan_to_num(jack_delta(noise, tally.truth, firm=firm).covariance)
    return JointEstimate(_centres(sample, tally.truth, firm), covariance, freedom)


def jack_delta(sample: Sample, truth: IntArray, *, firm: BoolArray) -> JointEstimate:
    """Centres without bias with the delta method's covariance, over any leading axes of the sample."""
    spread = np.full((*sample.counts.shape[:-3], FIRM + 1, FIRM + 1), np.nan)
    spread[..., :FIRM, :FIRM], facts = covariances(sample, truth)
    if firm.any():
        spread[..., FIRM, FIRM] = facts[..., firm].sum(axis=-1) / firm.sum() ** 2
    return JointEstimate(_centres(sample, truth, firm), spread)


def _centres(sample: Sample, truth: IntArray, firm: BoolArray) -> FloatArray:
    right = right_shares(sample.counts, truth)
    missing = np.full(right.shape[:-2], np.nan)
    return np.stack(
        [
            right.mean(axis=TOPIC_AXES),
            sample.entropies.mean(axis=TOPIC_AXES),
            sample.likenesses.mean(axis=-1),
            right[..., firm].mean(axis=-1) if firm.any() else missing,
        ],
        axis=-1,
    )


def single(joint: JointEstimate, score: int) -> Spread:
    """One of the four scores alone."""
    return Spread(joint.centres[..., score], _error(joint.covariance[..., score, score]))


def fairness(joint: JointEstimate) -> Spread:
    """S_fair with its error: by its gradient (1 - S_KLD, 1 - S_E) and the product of both variances."""
    evenness, likeness = joint.centres[..., EVENNESS], joint.centres[..., LIKENESS]
    gradient = np.stack([1 - likeness, 1 - evenness], axis=-1)
    both = joint.covariance[..., EVENNESS:FIRM, EVENNESS:FIRM]
    product = both[..., 0, 0] * both[..., 1, 1]
    return Spread(1 - (1 - evenness) * (1 - likeness), _error(variance_along(gradient, both) + product))


def distance(joint: JointEstimate, k: int) -> Spread:
    """The signed distance, by the normal of the curve: well defined at the curve, too."""
    fact, evenness = joint.centres[..., FACT], joint.centres[..., EVENNESS]
    centre, normal = distance_and_normal(fact, evenness, k)
    variance = variance_along(normal, joint.covariance[..., :LIKENESS, :LIKENESS])
    return Spread(centre, _error(variance))


def _error(variance: FloatArray) -> FloatArray:
    """The standard error; rounding may leave the variance of answers that do not vary below 0."""
    return np.asarray(np.sqrt(np.maximum(variance, 0)))
