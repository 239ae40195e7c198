"""Levels: weighted means of cells over prompts and attributes, from a category to the whole model."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring.faintbench.cells import Cells
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Level:
    """The mean over the cells that have a score; ``missing`` of those that have a weight have none.

    ``lost`` is the share of the weight that is missing, ``low`` and ``high`` the plug-in value if all
    missing cells had the lowest or the highest score there is.
    """

    estimate: Estimate
    cells: int
    missing: int
    lost: float
    low: float
    high: float


def level(
    cells: Cells,
    weights: ArrayLike,
    prompts: ArrayLike,
    *,
    floors: ArrayLike = 0.0,
    ceiling: float = 1.0,
) -> Level:
    """S = sum w S / sum w over flat cells, with w = k_i k_j the weights of attribute and prompt.

    All arrays have the shape (cells,). ``prompts`` says which cells are read from the same images:
    prompts are independent; how far cells of one prompt vary together is not in the counts, and
    they are taken to go all the way, which never makes the error too small. ``floors`` are the
    lowest scores of cells.

    Raises:
        InputError: no weight, a negative one, or shapes that differ.
    """
    weight, prompt = np.asarray(weights, dtype=np.float64), np.asarray(prompts)
    if not (cells.n.shape == weight.shape == prompt.shape) or weight.ndim != 1:
        raise InputError(
            f"{cells.n.shape} cells, {weight.shape} weights and {prompt.shape} prompts must agree"
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise InputError("weights must be finite, not negative and not all 0")
    present = cells.present
    lost = float(weight[~present].sum() / weight.sum())
    low, high = (
        float(np.average(np.where(present, cells.plugin, end), weights=weight)) for end in (floors, ceiling)
    )
    found = _estimate(cells, np.where(present, weight, 0.0), prompt)
    return Level(found, int((weight > 0).sum()), int((~present & (weight > 0)).sum()), lost, low, high)


def _estimate(cells: Cells, weight: FloatArray, prompts: IntArray) -> Estimate:
    """The mean where the weights are not 0."""
    used = weight > 0
    n = _images(cells.n[used], prompts[used])
    if not used.any():
        return Estimate(None, None, None, n, "no prompt has enough images")
    share = weight[used] / weight.sum()
    plugin = float(share @ cells.plugin[used])
    if cells.reason:
        return Estimate(plugin, None, None, n, cells.reason)
    _, place = np.unique(prompts[used], return_inverse=True)
    errors = np.bincount(place, weights=share * cells.error[used])
    return Estimate(
        plugin,
        float(share @ cells.corrected[used]),
        sqrt(float(errors @ errors)),
        n,
        share=cells.share and len(share) == 1,
    )


def _images(n: IntArray, prompts: IntArray) -> int:
    """How many images the cells rest on, those of a prompt counted once."""
    _, place = np.unique(prompts, return_inverse=True)
    most = np.zeros(len(n), dtype=np.int64)
    np.maximum.at(most, place, n)
    return int(most.sum())
