"""Scores of shares without the bias of the plug-in: Quenouille's jackknife of second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pytest_factorfair.scoring.shares import FloatArray

Score: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def jackknifed(score: Score, counts: FloatArray, truth: FloatArray) -> FloatArray:
    """n^2/2 S - (n-1)^2 S_1 + (n-2)^2/2 S_2 of each cell; may leave the range of the score.

    S_1 and S_2 are the means of the score without one and without two of the images. The plug-in's
    bias is of order 1/n and adds up over prompts: a model that meets the demographic shares would
    seem not to. What is left is of order 1/n^3. ``score`` takes counts and shares (..., k) to
    (...); nan with fewer than two images.
    """
    total = counts.sum(axis=-1)
    n = np.where(total > 1, total, np.nan)
    one = np.eye(counts.shape[-1])
    without_one = np.maximum(counts[..., None, :] - one, 0)
    without_two = np.maximum(without_one[..., None, :] - one, 0)
    # The chances that an image of class i, and then one of class j, is left out.
    first = counts / n[..., None]
    both = first[..., None] * without_one / (n - 1)[..., None, None]
    once = _mean(score(without_one, truth[..., None, :]), first, axis=-1)
    twice = _mean(score(without_two, truth[..., None, None, :]), both, axis=(-2, -1))
    return np.asarray(n**2 / 2 * score(counts, truth) - (n - 1) ** 2 * once + (n - 2) ** 2 / 2 * twice)


def _mean(scores: FloatArray, chances: FloatArray, axis: int | tuple[int, int]) -> FloatArray:
    """Weighted by chances; nan where those are, 0 where no image is left to have a score."""
    return np.asarray((np.nan_to_num(scores) * chances).sum(axis=axis))
