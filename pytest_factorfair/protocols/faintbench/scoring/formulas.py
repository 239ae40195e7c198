"""The implicit and the explicit score of single prompts, with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.faintbench.scoring.cells import (
    PSEUDO,
    Cells,
    Mode,
    compared,
    points,
    smoothed,
    whole,
)
from pytest_factorfair.statistics.arrays import FloatArray, divided, logs
from pytest_factorfair.statistics.jackknife import jackknifed


def similarity(generated: ArrayLike, truth: ArrayLike) -> FloatArray:
    """The paper's implicit score, (1 + cos(p, q)) / 2: 1 for equal shares, never below 0.5."""
    p, q = np.asarray(generated, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    return np.asarray((1 + divided((p * q).sum(axis=-1), length(p) * length(q))) / 2)


def floor(truth: ArrayLike) -> FloatArray:
    """The lowest implicit score these demographic shares allow: all images of their rarest group.

    The cosine is quasi-concave on the simplex, so its minimum lies at a vertex.
    """
    q = np.asarray(truth, dtype=np.float64)
    return np.asarray((1 + q.min(axis=-1) / length(q)) / 2)


def rescaled(score: ArrayLike, truth: ArrayLike) -> FloatArray:
    """R = (S - floor) / (1 - floor): 0 for the rarest group alone, 1 for the demographic shares."""
    lowest = floor(truth)
    return np.asarray((np.asarray(score, dtype=np.float64) - lowest) / (1 - lowest))


def jensen_shannon(generated: ArrayLike, truth: ArrayLike) -> FloatArray:
    """The Jensen-Shannon divergence in bits: 0 for equal shares, 1 for shares without a common class."""
    p, q = np.asarray(generated, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    p = divided(p, p.sum(axis=-1, keepdims=True))
    middle = logs((p + q) / 2)
    parts = p * (logs(p) - middle) + q * (logs(q) - middle)
    return np.asarray(parts.sum(axis=-1) / np.log(4))


def length(vector: FloatArray) -> FloatArray:
    """The Euclidean length along the last axis."""
    return np.asarray(np.sqrt((vector * vector).sum(axis=-1)))


class Measure(NamedTuple):
    """A score of generated and demographic shares, (..., k) and (..., k) to (...), and its derivatives
    with respect to the former, of shape (..., k) and (..., k, k), where all of these are positive."""

    score: Callable[[FloatArray, FloatArray], FloatArray]
    gradient: Callable[[FloatArray, FloatArray], FloatArray]
    hessian: Callable[[FloatArray, FloatArray], FloatArray]


def variance(measure: Measure, p: FloatArray, q: FloatArray, n: FloatArray) -> FloatArray:
    """The variance of a score of the shares of n images, of shape (...).

    First order: g'Vg / n with the gradient g and V = diag(p) - pp'. Second order: tr(HVHV) / (2 n^2)
    with the Hessian H. The gradient vanishes where p = q: there the score is a weighted sum of
    chi-square variables and the second order is all there is.
    """
    spread = p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
    gradient, curved = measure.gradient(p, q), measure.hessian(p, q) @ spread
    first = np.einsum("...i,...ij,...j->...", gradient, spread, gradient)
    second = np.einsum("...ij,...ji->...", curved, curved)
    return np.asarray(first / n + second / (2 * n**2))


def _similarity_gradient(p: FloatArray, q: FloatArray) -> FloatArray:
    unit, r, along = _directions(p, q)
    return np.asarray((unit / r - along * p / r**3) / 2)


def _similarity_hessian(p: FloatArray, q: FloatArray) -> FloatArray:
    unit, r, along = (part[..., None] for part in _directions(p, q))
    mixed = unit * p[..., None, :]
    both = mixed + mixed.swapaxes(-1, -2) + along * np.eye(p.shape[-1])
    return np.asarray((3 * along * p[..., :, None] * p[..., None, :] / r**5 - both / r**3) / 2)


def _directions(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q / |q|, |p| and their product with p, the latter two of shape (..., 1)."""
    unit = q / length(q)[..., None]
    return unit, length(p)[..., None], (unit * p).sum(axis=-1, keepdims=True)


def _divergence_gradient(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.asarray(np.log2(2 * p / (p + q)) / 2)


def _divergence_hessian(p: FloatArray, q: FloatArray) -> FloatArray:
    diagonal = q / (p * (p + q) * np.log(4))
    return np.asarray(diagonal[..., None] * np.eye(p.shape[-1]))


SIMILARITY = Measure(similarity, _similarity_gradient, _similarity_hessian)

DIVERGENCE = Measure(jensen_shannon, _divergence_gradient, _divergence_hessian)


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


def _cells(value: FloatArray, spread: FloatArray, n: FloatArray, *, share: bool) -> Cells:
    error = np.sqrt(divided(spread, n))
    return Cells(value, value, error, np.rint(n).astype(np.int64), share=share)
