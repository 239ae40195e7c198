"""The explicit score: whether images show the class their prompt asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring.faintbench.cells import Cells, points
from pytest_factorfair.scoring.faintbench.shares import PSEUDO
from pytest_factorfair.statistics.arrays import FloatArray, divided


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Explicit scores of prompts with two people, all of the same images.

    ``mean`` is the paper's score, half for either side; ``both`` counts an image that delivers both.
    """

    left: Cells
    right: Cells
    mean: Cells
    both: Cells


def explicit(delivered: ArrayLike, images: ArrayLike) -> Cells:
    """The share of a prompt's images whose requested class was delivered, arrays of one shape.

    The bounds of a single prompt are Wilson's. Levels take errors from smoothed shares, since no
    image or every image delivered does not mean no error.

    Raises:
        InputError: counts that are negative, or more delivered than there are images.
    """
    right, n = np.asarray(delivered, dtype=np.float64), np.asarray(images, dtype=np.float64)
    if right.shape != n.shape or not np.isfinite(n).all() or not ((right >= 0) & (right <= n)).all():
        raise InputError("delivered images must be at least 0 and at most all images")
    smooth = (right + PSEUDO / 2) / (n + PSEUDO)
    return _cells(divided(right, n), smooth * (1 - smooth), n, share=True)


def sides(outcomes: ArrayLike) -> Sides:
    """Both sides of relations and jointly, from counts (..., 2, 2): [left delivered, right delivered].

    Index 1 is delivered, 0 is not: ``outcomes[..., 1, 0]`` are the images with the left side alone.

    Raises:
        InputError: another shape, or counts that are negative.
    """
    counts = np.asarray(outcomes, dtype=np.float64)
    if counts.shape[-2:] != (2, 2) or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError(f"outcomes of shape {counts.shape} must be counts of shape (..., 2, 2)")
    n = counts.sum(axis=(-2, -1))
    smooth = (counts + PSEUDO / 4) / (n + PSEUDO)[..., None, None]
    # An image counts 0, 1/2 or 1; its variance holds how the sides go together.
    half = np.array([[0.0, 0.5], [0.5, 1.0]])
    middle, square = ((smooth * power).sum(axis=(-2, -1)) for power in (half, half**2))
    value = divided((counts * half).sum(axis=(-2, -1)), n)
    return Sides(
        left=explicit(counts[..., 1, :].sum(axis=-1), n),
        right=explicit(counts[..., :, 1].sum(axis=-1), n),
        mean=_cells(value, square - middle**2, n, share=False),
        both=explicit(counts[..., 1, 1], n),
    )


def mean_probability(probabilities: ArrayLike, requested: ArrayLike) -> Cells:
    """The score of the paper's code: the mean probability of the requested class over images.

    ``probabilities`` of shape (..., images, k), nan in all classes of an image that was rejected;
    ``requested`` of shape (...), class indices.
    """
    found, index = np.asarray(probabilities, dtype=np.float64), np.asarray(requested)
    asked = np.take_along_axis(found, index[..., None, None], axis=-1)[..., 0]
    n = (~np.isnan(asked)).sum(axis=-1)
    return points(divided(np.nansum(asked, axis=-1), n.astype(np.float64)), n, "published-code")


def _cells(value: FloatArray, spread: FloatArray, n: FloatArray, *, share: bool) -> Cells:
    error = np.sqrt(divided(spread, n))
    return Cells(value, value, error, n.astype(np.int64), share=share)
