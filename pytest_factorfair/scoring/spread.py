"""How much S_fact, S_E and S_KLD of a run vary together: the delta method, second order included."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.scoring.shares import shares
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.jackknife import SMOOTHING

# The scores of a covariance, in this order.
FACT, EVENNESS, LIKENESS = range(3)


def pulls(counts: ArrayLike, truth: IntArray) -> FloatArray:
    """The influence function: how an answer of each group pulls each score of its statistic.

    Of shape (..., statistics, 2, k, 3) for S_fact and S_E of its cell and S_KLD of its statistic, on
    Dirichlet(1/2) shares p (highest) and q (lowest); X = exp(-KL):
    1[truth] - p_t; -log p_i / log k - H; highest -X (log p_i/q_i - KL), lowest X (p_i/q_i - 1).
    Their mean over the shares of a cell is 0.
    """
    p = shares(counts, smoothing=SMOOTHING)
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


def cell_covariances(counts: ArrayLike, truth: IntArray) -> FloatArray:
    """Each cell's part of the covariance of (S_fact, S_E, S_KLD), of shape (..., statistics, 2, 3, 3).

    First order: 1/n times the mean product of the influences. Second order, without which the
    error would vanish at the uniform distribution: (k-1)/(2 n^2 log^2 k) for an entropy and
    (k-1)/2 (1/n_h + 1/n_l)^2 exp(-2 KL) for a divergence, half of it in either cell. The part is
    that of a cell's own S_fact and S_E, and of its statistic's S_KLD.
    """
    cells = np.asarray(counts, dtype=np.float64)
    p, k = shares(cells, smoothing=SMOOTHING), cells.shape[-1]
    n = np.where((total := cells.sum(axis=-1)) > 0, total, np.nan)
    pull = pulls(cells, truth)
    found: FloatArray = np.einsum("...i,...ia,...ib->...ab", p, pull, pull) / n[..., None, None]
    divergence = (p[..., 0, :] * np.log(p[..., 0, :] / p[..., 1, :])).sum(axis=-1)
    sizes = (1 / n).sum(axis=-1)
    found[..., EVENNESS, EVENNESS] += (k - 1) / (2 * (n * np.log(k)) ** 2)
    found[..., LIKENESS, LIKENESS] += ((k - 1) / 4 * sizes**2 * np.exp(-2 * divergence))[..., None]
    return found


def covariances(counts: ArrayLike, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """The covariance of S_fact, S_E and S_KLD of a run (..., 3, 3), and the variance of each cell's share
    of right answers (..., statistics, 2).

    Topics are the instrument and fixed; answers are independent, cells may be of unequal size.
    """
    parts = cell_covariances(counts, truth)
    statistics = parts.shape[-4]
    # S_fact and S_E are means over 2S cells, S_KLD over S statistics.
    weights = np.array([0.5, 0.5, 1.0]) / statistics
    return parts.sum(axis=(-4, -3)) * np.outer(weights, weights), parts[..., FACT, FACT]
