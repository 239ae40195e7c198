"""The implicit and the explicit score of prompts, and their weighted means, with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.domain import Estimator
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    divided,
    logs,
    multinomial_covariance,
    variance_along,
)
from pytest_factorfair.statistics.estimate import Estimate
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
    """A score of generated and demographic shares, (..., k) and (..., k) to (...), and its derivatives.

    Gradient (..., k) and Hessian (..., k, k) are with respect to the generated shares, where all of them are
    positive.
    """

    score: Callable[[FloatArray, FloatArray], FloatArray]
    gradient: Callable[[FloatArray, FloatArray], FloatArray]
    hessian: Callable[[FloatArray, FloatArray], FloatArray]


def variance(measure: Measure, p: FloatArray, q: FloatArray, n: FloatArray) -> FloatArray:
    """The variance of a score of the shares of n images, of shape (...).

    First order: g'Vg / n with the gradient g and V = diag(p) - pp'. Second order: tr(HVHV) / (2 n^2)
    with the Hessian H. The gradient vanishes where p = q: there the score is a weighted sum of
    chi-square variables and the second order is all there is.
    """
    spread = multinomial_covariance(p)
    gradient, curved = measure.gradient(p, q), measure.hessian(p, q) @ spread
    first_order = variance_along(gradient, spread)
    second_order = np.einsum("...ij,...ji->...", curved, curved)
    return np.asarray(first_order / n + second_order / (2 * n**2))


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


def implicit(counts: ArrayLike, truth: ArrayLike, *, estimator: Estimator = "corrected") -> Cells:
    """S = (1 + cos(p, q)) / 2 of each cell: counts (..., k) of images beside demographic shares q.

    ``corrected`` is the second-order jackknife's value, with the delta method's error on smoothed
    shares; it needs two images. Without images there is no score, but 1 with ``published-code``,
    whose code takes an empty overlap for a perfect one. Only that estimator takes negative
    shares, and those without an interval take sums of probabilities in place of counts.

    Raises:
        InputError: counts or shares that cannot be right.
    """
    if estimator == "corrected":
        return _estimated(SIMILARITY, counts, truth)
    if estimator == "plugin":
        cells, shares = compared(counts, truth)
        return points(similarity(cells, shares), cells.sum(axis=-1), estimator)
    cells = np.asarray(counts, dtype=np.float64)
    return points(np.nan_to_num(similarity(cells, truth), nan=1.0), cells.sum(axis=-1), estimator)


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
    """The share of a prompt's images that show the requested class; arrays have one shape.

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
    """Explicit scores of relations by side and jointly, from counts (..., 2, 2) of [left, right] delivered.

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


# Shares are given to a few digits.
ROUNDED = 1e-6

# Pseudo-images of a cell, over all classes, in the shares that errors are computed on (Agresti and
# Coull): images that are all of one class would otherwise have no error.
PSEUDO = 4.0


class ComparedShares(NamedTuple):
    """Counts and demographic shares, both of shape (..., k)."""

    counts: FloatArray
    truth: FloatArray

    @property
    def images(self) -> FloatArray:
        """How many images each cell has, of shape (...)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def generated(self) -> FloatArray:
        """Generated shares, nan where there are no images."""
        return divided(self.counts, self.images[..., None])


def compared(counts: ArrayLike, truth: ArrayLike) -> ComparedShares:
    """Counts (..., k) of images per class beside demographic shares that broadcast to them.

    Raises:
        InputError: shapes that do not fit, fewer than two classes, a negative or non-finite count
            or share, shares that do not add up to 1.
    """
    cells, shares = np.asarray(counts, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if not cells.ndim or not shares.ndim or cells.shape[-1] != shares.shape[-1] or cells.shape[-1] < 2:  # noqa: PLR2004 - the shape
        raise InputError(
            f"counts {cells.shape} and shares {shares.shape} must have the same two or more classes"
        )
    try:
        cells, shares = np.broadcast_arrays(cells, shares)
    except ValueError:
        raise InputError(f"shares of shape {shares.shape} do not fit counts of shape {cells.shape}") from None
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise InputError("counts must be finite and not negative")
    if not np.isfinite(shares).all() or (shares < 0).any() or (abs(shares.sum(axis=-1) - 1) > ROUNDED).any():
        raise InputError("demographic shares must not be negative and must add up to 1")
    return ComparedShares(cells, shares)


def whole(counts: FloatArray) -> FloatArray:
    """The counts of single images, which jackknives and resampling need.

    Raises:
        InputError: sums of probabilities in place of counts.
    """
    if (counts != np.rint(counts)).any():
        raise InputError("counts must be whole numbers of images: sums of probabilities have no interval")
    return counts


def smoothed(counts: FloatArray) -> FloatArray:
    """Shares with PSEUDO images spread evenly over the classes, of shape (..., k)."""
    k = counts.shape[-1]
    return np.asarray((counts + PSEUDO / k) / (counts.sum(axis=-1, keepdims=True) + PSEUDO))


# Images a cell needs for an interval: from one the bias cannot be estimated.
LEAST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Scores of one kind, all arrays of one shape; nan where a cell has none.

    ``plugin``, ``corrected`` and ``error`` as in an estimate, ``n`` how many images were read.
    ``reason`` is why none of them has an interval, empty if they have; ``share`` marks plain
    shares of n.
    """

    plugin: FloatArray
    corrected: FloatArray
    error: FloatArray
    n: IntArray
    reason: str = ""
    share: bool = False

    @property
    def present(self) -> BoolArray:
        """Which cells have a score of the kind that is judged."""
        return np.asarray(~np.isnan(self.plugin if self.reason else self.corrected))

    def estimate(self, *index: int) -> Estimate:
        """The score of one cell."""
        plugin = None if np.isnan(self.plugin[index]) else float(self.plugin[index])
        n = int(self.n[index])
        if not self.present[index] or self.reason:
            return Estimate(plugin, None, None, n, self.reason or f"{n} of the {LEAST} images needed")
        return Estimate(plugin, float(self.corrected[index]), float(self.error[index]), n, share=self.share)


def joined(parts: Sequence[Cells]) -> Cells:
    """Cells of one estimator, such as those of several attributes, as one flat array."""
    return Cells(
        np.concatenate([part.plugin.ravel() for part in parts]),
        np.concatenate([part.corrected.ravel() for part in parts]),
        np.concatenate([part.error.ravel() for part in parts]),
        np.concatenate([part.n.ravel() for part in parts]),
        next((part.reason for part in parts if part.reason), ""),
        all(part.share for part in parts),
    )


def points(values: FloatArray, n: ArrayLike, estimator: Estimator) -> Cells:
    """Cells of an estimator that gives no interval."""
    nothing = np.full(values.shape, np.nan)
    images = np.rint(n).astype(np.int64)
    return Cells(values, nothing, nothing, images, f"the estimator {estimator} gives no interval")


def level(cells: Cells, weights: ArrayLike, prompts: ArrayLike) -> Estimate:
    """S = sum w S / sum w over the flat cells that have a score, with w = k_i k_j of attribute and prompt.

    All arrays have the shape (cells,). ``prompts`` says which cells are read from the same images. Prompts
    are independent. The counts do not say how far cells of one prompt vary together: a perfect correlation
    is assumed, which never makes the error too small.

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
    weight = np.where(cells.present, weight, 0.0)
    used = weight > 0
    _, index = np.unique(prompt[used], return_inverse=True)
    images = np.zeros(int(used.sum()), dtype=np.int64)
    np.maximum.at(images, index, cells.n[used])
    n = int(images.sum())  # images of a prompt count once
    if not used.any():
        return Estimate(None, None, None, n, "no prompt has enough images")
    share = weight[used] / weight.sum()
    plugin = float(share @ cells.plugin[used])
    if cells.reason:
        return Estimate(plugin, None, None, n, cells.reason)
    errors = np.bincount(index, weights=share * cells.error[used])
    return Estimate(
        plugin,
        float(share @ cells.corrected[used]),
        sqrt(float(errors @ errors)),
        n,
        share=cells.share and len(share) == 1,
    )
