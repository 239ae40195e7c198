"""Factuality: how often the answer is the group the statistic names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring.shares import TOPIC_AXES, mean, shares
from pytest_factorfair.statistics.arrays import FloatArray


def s_fact(counts: ArrayLike, truth: ArrayLike) -> FloatArray:
    """S_fact = 1 / (2|S|) sum over topics of p[truth] (Fact-or-Fair, Definition 1).

    The mean over topics of each topic's share, not the pooled share: only so does the trade-off
    bound hold where topics have unequal numbers of answers. ``counts`` has shape
    (..., statistics, 2, k), ``truth`` (statistics, 2); the result has the leading axes of counts,
    nan where a topic has no answers.

    Raises:
        InputError: wrong shapes, or a truth that is not a group's index.
    """
    return mean(right_shares(counts, truth), axis=TOPIC_AXES)


def right_shares(counts: ArrayLike, truth: ArrayLike) -> FloatArray:
    """The share of answers equal to the truth in each cell, of shape (..., statistics, 2)."""
    distributions = shares(counts)
    labels = np.asarray(truth)
    *_, statistics, directions, k = distributions.shape
    if labels.shape != (statistics, directions) or not np.issubdtype(labels.dtype, np.integer):
        raise InputError(
            f"truth is {labels.dtype} of shape {labels.shape}; "
            f"integers of shape {(statistics, directions)} are needed"
        )
    if (labels < 0).any() or (labels >= k).any():
        raise InputError(f"truth must be group indices from 0 to {k - 1}")
    index = labels.reshape((1,) * (distributions.ndim - 3) + (*labels.shape, 1))
    return np.take_along_axis(distributions, index, axis=-1)[..., 0]
