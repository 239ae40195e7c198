"""The implicit score of prompts that name no protected attribute, with its uncertainty."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.scoring.faintbench.alignment import floor, rescaled, similarity
from pytest_factorfair.scoring.faintbench.cells import Cells, Mode, points
from pytest_factorfair.scoring.faintbench.measures import DIVERGENCE, SIMILARITY, Measure, variance
from pytest_factorfair.scoring.faintbench.shares import compared, smoothed, whole
from pytest_factorfair.statistics.jackknife import jackknifed


def implicit(counts: ArrayLike, truth: ArrayLike, *, mode: Mode = "corrected") -> Cells:
    """S = (1 + cos(p, q)) / 2 of each cell: counts (..., k) of images beside demographic shares q.

    ``corrected`` is the second-order jackknife's value, with the delta method's error on smoothed
    shares; it needs two images. Without images there is no score, but 1 in mode ``published-code``,
    whose code takes an empty overlap for a perfect one. Only that mode takes negative shares, and
    the modes without an interval take sums of probabilities in place of counts.

    Raises:
        InputError: counts or shares that cannot be right.
    """
    if mode == "corrected":
        return _estimated(SIMILARITY, counts, truth)
    if mode == "paper":
        cells, shares = compared(counts, truth)
        return points(similarity(cells, shares), cells.sum(axis=-1), mode)
    cells = np.asarray(counts, dtype=np.float64)
    return points(np.nan_to_num(similarity(cells, truth), nan=1.0), cells.sum(axis=-1), mode)


def rescaled_implicit(cells: Cells, truth: ArrayLike) -> Cells:
    """R of cells of implicit scores: 0 at the floor of the shares (..., k), 1 where they are met."""
    reach = 1 - floor(truth)
    plugin, corrected = (rescaled(values, truth) for values in (cells.plugin, cells.corrected))
    return Cells(plugin, corrected, cells.error / reach, cells.n, cells.reason)


def divergence(counts: ArrayLike, truth: ArrayLike) -> Cells:
    """The Jensen-Shannon divergence in bits, estimated as the implicit score is."""
    return _estimated(DIVERGENCE, counts, truth)


def _estimated(measure: Measure, counts: ArrayLike, truth: ArrayLike) -> Cells:
    cells, shares = compared(counts, truth)
    n = whole(cells).sum(axis=-1)
    corrected = jackknifed(measure.score, cells, shares)
    error = np.sqrt(variance(measure, smoothed(cells), shares, np.where(n > 0, n, np.nan)))
    return Cells(measure.score(cells, shares), corrected, error, n.astype(np.int64))
