"""Array types, logarithms and quotients that are defined at 0, covariances and variances."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Results without leading axes are NumPy scalars, which behave like arrays of shape ().
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def logs(values: FloatArray) -> FloatArray:
    """Natural logarithms; 0 where the value is 0 or nan, so that 0 log 0 is 0 and nan times it is nan."""
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def multinomial_covariance(shares: FloatArray) -> FloatArray:
    """diag(p) - pp', the covariance (..., k, k) of one draw from shares p (..., k)."""
    return np.asarray(shares[..., None] * np.eye(shares.shape[-1]) - outer(shares))


def outer(vector: FloatArray) -> FloatArray:
    """The outer product (..., k, k) of a vector (..., k) with itself."""
    return np.asarray(vector[..., :, None] * vector[..., None, :])


def variance_along(direction: FloatArray, covariance: FloatArray) -> FloatArray:
    """v'Cv, the variance (...) of a sum with weights v (..., k), from the covariance C (..., k, k)."""
    return np.asarray(np.einsum("...i,...ij,...j->...", direction, covariance, direction))


def divided(above: FloatArray | IntArray, below: FloatArray | IntArray) -> FloatArray:
    """The quotient of two arrays; nan where the divisor is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    divisible = np.broadcast_to(below != 0, shape)
    quotients: FloatArray = np.divide(above, below, out=np.full(shape, np.nan), where=divisible)
    return quotients
