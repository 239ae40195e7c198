"""Jackknife corrections of plug-in scores: closed forms of first order, and the second-order jackknife."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import FloatArray, logs

Score: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

# Pseudo-count per group in the shares from which S_KLD and all standard errors are computed.
SMOOTHING = 0.5


def jackknifed_entropies(counts: ArrayLike, *, effect: ArrayLike = 1.0) -> FloatArray:
    """The jackknifed normalised entropy of each cell; may lie outside 0 to 1.

    It is (n H - (n-1) mean of H without one answer) / log k. ``counts`` have shape (..., statistics, 2, k); a
    cell with fewer than two answers is nan. The plug-in is too low by (k-1)/(2n log k); the remaining bias is
    of order 1/n^2. Answers that vary less than drawn groups, by their design ``effect`` of shape
    (..., statistics, 2), count as n / effect drawn ones: the first order of the bias is multiplied by the
    effect, the second by its square.
    """
    cells = np.asarray(counts, dtype=np.float64)
    n = np.where((total := cells.sum(axis=-1)) > 1, total, np.nan)
    terms = cells * logs(cells)
    whole = terms.sum(axis=-1)
    fewer = np.maximum(cells - 1, 0)
    # Leave out an answer of group i; there are as many such cases as answers of the group.
    without = n * np.log(n - 1) - (n * whole + (cells * (fewer * logs(fewer) - terms)).sum(axis=-1)) / (n - 1)
    plugin = np.log(n) - whole / n
    bias = plugin - (n * plugin - (n - 1) / n * without)
    k, effects = cells.shape[-1], np.asarray(effect)
    first_order = (1 - k) / (2 * n)
    return np.asarray((plugin - effects * first_order - effects**2 * (bias - first_order)) / np.log(k))


def jackknifed_likenesses(counts: ArrayLike, *, effect: ArrayLike = 1.0) -> FloatArray:
    """exp(-KL(highest || lowest)) of each statistic by the two-sample jackknife; may lie outside 0 to 1.

    Shares are smoothed: (n_i + effect/2) / (n + k effect/2). The bias is estimated by leaving out an answer
    of either direction, multiplied by the direction's design ``effect``, and subtracted for both. ``counts``
    have shape (..., statistics, 2, k), the result (..., statistics); nan where a cell has no answers.
    """
    cells = np.asarray(counts, dtype=np.float64)
    effects = np.broadcast_to(np.asarray(effect, dtype=np.float64), cells.shape[:-1])
    smoothed = cells + SMOOTHING * effects[..., None]
    smoothed = np.where(cells.any(axis=-1, keepdims=True), smoothed, np.nan)
    smoothed /= smoothed.sum(axis=-1, keepdims=True)
    value = np.exp(-(smoothed[..., 0, :] * np.log(smoothed[..., 0, :] / smoothed[..., 1, :])).sum(axis=-1))
    return np.asarray(value - (effects * _likeness_biases(cells)).sum(axis=-1))


def _likeness_biases(cells: FloatArray) -> FloatArray:
    """The jackknife bias for each direction, (..., 2): (n-1) (mean value without one answer - value)."""
    high, low = cells[..., 0, :], cells[..., 1, :]
    a, b = high + SMOOTHING, low + SMOOTHING
    log_a, log_b = np.log(a), np.log(b)
    sizes = [
        np.where(counts.any(axis=-1), (counts + SMOOTHING).sum(axis=-1), np.nan) for counts in (high, low)
    ]
    gain = (a * (log_a - log_b)).sum(axis=-1)

    def likeness(total: FloatArray, size_a: FloatArray, size_b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-total / size_a) * size_a / size_b)

    value = likeness(gain, *sizes)
    less_a, less_b = (np.maximum(counts - 1, 0) + SMOOTHING for counts in (high, low))
    change = less_a * (np.log(less_a) - log_b) - a * (log_a - log_b)
    high_size, low_size = (size[..., None] for size in sizes)
    without = (
        likeness(gain[..., None] + change, high_size - 1, low_size),
        likeness(gain[..., None] + a * (log_b - np.log(less_b)), high_size, low_size - 1),
    )
    n = np.where((total := cells.sum(axis=-1)) > 0, total, np.nan)
    means = np.stack([(high * without[0]).sum(axis=-1), (low * without[1]).sum(axis=-1)], axis=-1) / n
    return np.asarray((n - 1) * (means - value[..., None]))


def jackknifed(score: Score, counts: FloatArray, truth: FloatArray) -> FloatArray:
    """The second-order jackknife of a score for each cell; may lie outside the score's range.

    It is n^2/2 S - (n-1)^2 S_1 + (n-2)^2/2 S_2, where S_1 and S_2 are the means of the score without one and
    without two of the images. The plug-in's bias is of order 1/n and adds up over prompts, so that a model
    that meets the demographic shares would seem to miss them. The remaining bias is of order 1/n^3. ``score``
    maps counts and shares (..., k) to (...); cells with fewer than two images are nan.
    """
    total = counts.sum(axis=-1)
    n = np.where(total > 1, total, np.nan)
    image = np.eye(counts.shape[-1])
    without_one = np.maximum(counts[..., None, :] - image, 0)
    without_two = np.maximum(without_one[..., None, :] - image, 0)
    # The probability that an image of class i, and then one of class j, is left out.
    chances = counts / n[..., None]
    pair_chances = chances[..., None] * without_one / (n - 1)[..., None, None]
    once = _mean(score(without_one, truth[..., None, :]), chances, axis=-1)
    twice = _mean(score(without_two, truth[..., None, None, :]), pair_chances, axis=(-2, -1))
    return np.asarray(n**2 / 2 * score(counts, truth) - (n - 1) ** 2 * once + (n - 2) ** 2 / 2 * twice)


def _mean(scores: FloatArray, chances: FloatArray, axis: int | tuple[int, int]) -> FloatArray:
    """The mean of scores, weighted by chances; nan if a chance is nan. Scores without images count as 0."""
    return np.asarray((np.nan_to_num(scores) * chances).sum(axis=axis))
