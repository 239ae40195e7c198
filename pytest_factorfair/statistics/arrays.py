"""Types of arrays, logarithms and quotients with defined limits, and the covariance of draws."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# A result without leading axes is a NumPy scalar: it has all that an array of shape () has.
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def logs(values: FloatArray) -> FloatArray:
    """Natural logarithms, 0 where the value is 0 or nan, so that 0 log 0 is 0 and nan times it stays nan."""
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def multinomial_covariance(shares: FloatArray) -> FloatArray:
    """diag(p) - pp', the covariance (..., k, k) of one draw from shares p (..., k)."""
    return np.asarray(shares[..., None] * np.eye(shares.shape[-1]) - outer(shares))


def outer(vector: FloatArray) -> FloatArray:
    """The products (..., k, k) of the entries of a vector (..., k) with each other."""
    return np.asarray(vector[..., :, None] * vector[..., None, :])


def divided(above: FloatArray | IntArray, below: FloatArray | IntArray) -> FloatArray:
    """A quotient, nan where the divisor is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    divisible = np.broadcast_to(below != 0, shape)
    quotients: FloatArray = np.divide(above, below, out=np.full(shape, np.nan), where=divisible)
    return quotients
