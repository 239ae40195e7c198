"""Smooth scores of shares with their first and second derivatives, for the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pytest_factorfair.scoring.faintbench.alignment import jensen_shannon, length, similarity
from pytest_factorfair.statistics.arrays import FloatArray


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
