"""Pairs of an advantaged and a disadvantaged prompt, and the definitions of the manifestation factor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, divided

Definition = Literal["corrected", "bounded", "text", "paper", "published-code"]

# Shares that equal their ground truth but for this are no deviation: only its sign would count.
ROUNDING = 1e-12


class Contrast(NamedTuple):
    """Shares of classes in pairs of prompts, all but the weights of shape (..., pairs, k).

    p and p' are the generated and demographic shares of the advantaged prompt, q and q' those of the
    disadvantaged one; nan in a pair that has no images. ``pairs`` (pairs,) and ``classes`` (k,) are
    weights.
    """

    p: FloatArray
    p_truth: FloatArray
    q: FloatArray
    q_truth: FloatArray
    pairs: FloatArray
    classes: FloatArray

    @property
    def deviations(self) -> tuple[FloatArray, FloatArray]:
        """dp = p - p' and dq = q - q'."""
        return _snapped(self.p - self.p_truth), _snapped(self.q - self.q_truth)

    def squares(self) -> tuple[FloatArray, FloatArray]:
        """Of what both prompts share, c = (dp + dq) / 2, and of what tells them apart, d = (dp - dq) / 2."""
        dp, dq = self.deviations
        return ((dp + dq) / 2) ** 2, ((dp - dq) / 2) ** 2

    def total(self, values: FloatArray) -> FloatArray:
        """The weighted sum over classes and over the pairs that have images, of shape (...)."""
        return np.asarray(np.nansum(values @ self.classes * self.pairs, axis=-1))

    def mean(self, values: FloatArray) -> FloatArray:
        """The weighted sum over classes, averaged over the pairs that have images."""
        known = np.where(np.isnan(values).any(axis=-1), 0.0, self.pairs)
        return divided(self.total(values), known.sum(axis=-1))


def split(contrast: Contrast) -> FloatArray:
    """sum w k d^2 / sum w k (c^2 + d^2): 0 is a common shift, 1 opposite shifts, one-sided ones are 1/2.

    Bounded, continuous and without a rule of signs; 1/2 without any deviation. It is the paper's
    alpha split in two: dp^2 + dq^2 = 2 (c^2 + d^2).
    """
    common, apart = (contrast.total(square) for square in contrast.squares())
    return ratio(common, apart)


def ratio(common: FloatArray, apart: FloatArray) -> FloatArray:
    """The second's share of both, 1/2 where both are 0."""
    found = divided(apart, common + apart)
    return np.asarray(np.where(np.isnan(found), 0.5, found))


def magnitude(contrast: Contrast) -> FloatArray:
    """sqrt(mean(c^2 + d^2)) by the same weights: how much there is for the factor to be about."""
    common, apart = contrast.squares()
    return np.asarray(np.sqrt(contrast.mean(common + apart) / contrast.classes.sum()))


def bounded(contrast: Contrast) -> FloatArray:
    """1/2 + (D - I) / (2 (D + I)) with D and I the sums of alpha over opposite and over equal signs."""
    alpha, sign = _alpha(contrast), _sign(contrast)
    same = contrast.total(alpha * (sign > 0))
    return ratio(same, contrast.total(alpha * (sign < 0)))


def text(contrast: Contrast) -> FloatArray:
    """As the paper's text has it: equal signs (ignorance) lower it; a mean over pairs, may leave 0 to 1."""
    return np.asarray(0.5 - contrast.mean(_sign(contrast) * _alpha(contrast)))


def printed(contrast: Contrast) -> FloatArray:
    """As the paper's formula has it: a plain sum over pairs, with the reverse sign of the text; unbounded."""
    alone = contrast._replace(pairs=np.ones_like(contrast.pairs))
    return np.asarray(0.5 + alone.total(_sign(contrast) * _alpha(contrast)))


def coded(contrast: Contrast) -> FloatArray:
    """As the paper's code has it: alpha = (p - p'^2) + (q - q'^2), the formula's sign, a mean over pairs.

    The square is on the demographic share alone; for gender what the model generates cancels out of
    alpha. Pairs without images count as 1/2.
    """
    alpha = contrast.p - contrast.p_truth**2 + contrast.q - contrast.q_truth**2
    return np.asarray(0.5 + contrast.total(_sign(contrast) * alpha) / contrast.pairs.sum())


def _alpha(contrast: Contrast) -> FloatArray:
    dp, dq = contrast.deviations
    return np.asarray(dp**2 + dq**2)


def _sign(contrast: Contrast) -> FloatArray:
    """1 where both deviations have the same sign, -1 where they have not, 0 where one is 0."""
    dp, dq = contrast.deviations
    return np.sign(dp) * np.sign(dq)


def _snapped(deviation: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.abs(deviation) < ROUNDING, 0.0, deviation))


DEFINITIONS: Mapping[Definition, Callable[[Contrast], FloatArray]] = MappingProxyType(
    {"corrected": split, "bounded": bounded, "text": text, "paper": printed, "published-code": coded}
)
