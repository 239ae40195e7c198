"""Scores without the bias of the plug-in: closed forms of the jackknife, and the one of second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import FloatArray, logs

Score: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

# Pseudo-count per group of the shares that S_KLD and all standard errors are computed on.
SMOOTHING = 0.5


def jackknifed_entropies(counts: ArrayLike, *, effect: ArrayLike = 1.0) -> FloatArray:
    """n H - (n-1) mean of H without one answer, for each cell, over log k; may leave 0 to 1.

    ``counts`` of shape (..., statistics, 2, k) with at least two answers in each cell, else nan.
    Plug-in entropy is low by (k-1)/(2n log k); what is left of the bias is of order 1/n^2. Where answers
    vary less than groups that are drawn, the bias is less by their design ``effect`` (..., statistics, 2).
    """
    cells = np.asarray(counts, dtype=np.float64)
    n = np.where((total := cells.sum(axis=-1)) > 1, total, np.nan)
    terms = cells * logs(cells)
    whole = terms.sum(axis=-1)
    fewer = np.maximum(cells - 1, 0)
    # One answer less of group i, as often as there are such answers.
    without = n * np.log(n - 1) - (n * whole + (cells * (fewer * logs(fewer) - terms)).sum(axis=-1)) / (n - 1)
    plugin = np.log(n) - whole / n
    bias = plugin - (n * plugin - (n - 1) / n * without)
    return np.asarray((plugin - effect * bias) / np.log(cells.shape[-1]))


def jackknifed_likenesses(counts: ArrayLike, *, effect: ArrayLike = 1.0) -> FloatArray:
    """exp(-KL(highest || lowest)) of each statistic by the two-sample jackknife; may leave 0 to 1.

    On Dirichlet shares (n_i + effect/2) / (n + k effect/2). The bias that leaving out one answer of either
    direction shows is subtracted for both, times the design ``effect`` of each. ``counts`` of shape
    (..., statistics, 2, k), the result (..., statistics); nan where a cell has no answers.
    """
    cells = np.asarray(counts, dtype=np.float64)
    effects = np.broadcast_to(np.asarray(effect, dtype=np.float64), cells.shape[:-1])
    smoothed = cells + SMOOTHING * effects[..., None]
    smoothed = np.where(cells.any(axis=-1, keepdims=True), smoothed, np.nan)
    smoothed /= smoothed.sum(axis=-1, keepdims=True)
    value = np.exp(-(smoothed[..., 0, :] * np.log(smoothed[..., 0, :] / smoothed[..., 1, :])).sum(axis=-1))
    return np.asarray(value - (effects * _likeness_biases(cells)).sum(axis=-1))


def _likeness_biases(cells: FloatArray) -> FloatArray:
    """(n-1) (mean over answers of the value without it - the value), for either direction, (..., 2)."""
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
    """n^2/2 S - (n-1)^2 S_1 + (n-2)^2/2 S_2 of each cell; may leave the range of the score.

    S_1 and S_2 are the means of the score without one and without two of the images. The plug-in's
    bias is of order 1/n and adds up over prompts: a model that meets the demographic shares would
    seem not to. What is left is of order 1/n^3. ``score`` takes counts and shares (..., k) to
    (...); nan with fewer than two images.
    """
    total = counts.sum(axis=-1)
    n = np.where(total > 1, total, np.nan)
    image = np.eye(counts.shape[-1])
    without_one = np.maximum(counts[..., None, :] - image, 0)
    without_two = np.maximum(without_one[..., None, :] - image, 0)
    # The chances that an image of class i, and then one of class j, is left out.
    chances = counts / n[..., None]
    pair_chances = chances[..., None] * without_one / (n - 1)[..., None, None]
    once = _mean(score(without_one, truth[..., None, :]), chances, axis=-1)
    twice = _mean(score(without_two, truth[..., None, None, :]), pair_chances, axis=(-2, -1))
    return np.asarray(n**2 / 2 * score(counts, truth) - (n - 1) ** 2 * once + (n - 2) ** 2 / 2 * twice)


def _mean(scores: FloatArray, chances: FloatArray, axis: int | tuple[int, int]) -> FloatArray:
    """Weighted by chances; nan where those are, 0 where no image is left to have a score."""
    return np.asarray((np.nan_to_num(scores) * chances).sum(axis=axis))
