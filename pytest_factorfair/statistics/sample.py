"""Answers of a cell as shares of groups: each a group that was drawn, or the probabilities of all groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, multinomial_covariance, outer
from pytest_factorfair.statistics.jackknife import SMOOTHING, jackknifed_entropies, jackknifed_likenesses

# The variance of answers that do not vary, and their design effect: shares that are smoothed are never 0.
ROUNDING = 1e-18


class Smoothed(NamedTuple):
    """Shares (..., k) that are never 0, and the covariance (..., k, k) of one answer around them."""

    shares: FloatArray
    covariance: FloatArray

    @property
    def surprise(self) -> FloatArray:
        """diag(1/p) covariance, (..., k, k): its trace is k - 1 for groups that were drawn."""
        return np.asarray(self.covariance / self.shares[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Answers of cells.

    ``counts`` (..., k) are the sums of each group's share over the answers, whole numbers where every answer
    is one group. ``measured`` (..., k, k) is the covariance of one answer's shares; None where it is the
    multinomial's, diag(p) - pp', because every answer is a group that was drawn.
    """

    counts: FloatArray
    measured: FloatArray | None = None

    def restrict(self, rows: Sequence[int]) -> Sample:
        """The sample restricted to these statistics."""
        indices = list(rows)
        return Sample(self.counts[indices], None if self.measured is None else self.measured[indices])

    @property
    def n(self) -> FloatArray:
        """Answers of each cell, nan where there are none."""
        total = self.counts.sum(axis=-1)
        return np.asarray(np.where(total > 0, total, np.nan))

    @property
    def design_effect(self) -> FloatArray:
        """The variance of an answer's shares, over that of a group that is drawn from them; at most 1."""
        if self.measured is None:
            return np.ones(self.counts.shape[:-1])
        p = self.counts / self.n[..., None]
        drawn = 1 - (p**2).sum(axis=-1)
        ratio = np.divide(
            np.trace(self.measured, axis1=-2, axis2=-1), drawn, out=np.ones_like(drawn), where=drawn > 0
        )
        return np.asarray(np.clip(ratio, ROUNDING, 1.0))

    @property
    def smoothed(self) -> Smoothed:
        """With Dirichlet pseudo-answers: half an answer per group, times the design effect.

        Answers that vary less are worth more drawn ones; their pseudo-answers shrink to keep the same weight.
        """
        n, k = self.n[..., None], self.counts.shape[-1]
        added = SMOOTHING * self.design_effect[..., None]
        raw, even = self.counts / n, np.full(k, 1 / k)
        drawn = multinomial_covariance(raw)
        # A mixture: within either part, and between them. A difference of moments would leave rounding only.
        weight = (n / (n + k * added))[..., None]
        within = weight * (drawn if self.measured is None else self.measured)
        pseudo = (1 - weight) * multinomial_covariance(even)
        covariance = within + pseudo + weight * (1 - weight) * outer(raw - even)
        return Smoothed(np.asarray((self.counts + added) / (n + k * added)), np.asarray(covariance))

    @property
    def effective(self) -> FloatArray:
        """How many groups would have to be drawn for each share to be as precise, (..., k).

        At least as many as there are answers: no share varies more than that of a group that is drawn.
        """
        shares, covariance = self.smoothed
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        ratio = shares * (1 - shares) / np.maximum(variance, ROUNDING)
        return np.asarray(self.n[..., None] * np.maximum(ratio, 1.0))

    @property
    def entropies(self) -> FloatArray:
        """Entropy over log k of each cell without the plug-in's bias; may leave 0 to 1."""
        return jackknifed_entropies(self.counts, effect=self.design_effect)

    @property
    def likenesses(self) -> FloatArray:
        """exp(-KL(highest || lowest)) of counts (..., 2, k) without the plug-in's bias; may leave 0 to 1."""
        return jackknifed_likenesses(self.counts, effect=self.design_effect)
