"""Samples of answers, each a drawn group or a distribution over groups, with their shares and variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, multinomial_covariance, outer
from pytest_factorfair.statistics.jackknife import SMOOTHING, jackknifed_entropies, jackknifed_likenesses

# The minimum variance and design effect, of answers that do not vary; keeps smoothed shares above 0.
ROUNDING = 1e-18


class SmoothedShares(NamedTuple):
    """Smoothed shares (..., k), which are never 0, and the covariance (..., k, k) of a single answer."""

    shares: FloatArray
    covariance: FloatArray

    @property
    def surprise(self) -> FloatArray:
        """The matrix diag(1/p) covariance, (..., k, k); its trace is k - 1 if answers are drawn groups."""
        return np.asarray(self.covariance / self.shares[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The answers of cells, summarised by their sums and covariances.

    ``counts`` (..., k) are the sums of each group's share over the answers: whole numbers if every answer is
    a single group. ``measured`` (..., k, k) is the covariance of an answer's shares; None if every answer is
    a drawn group, so that it is the multinomial's, diag(p) - pp'. ``noise`` (..., k, k) is the covariance of
    an error that all answers of a cell share, so that their mean has it, too; None if there is none. It
    widens intervals, and moves no score.
    """

    counts: FloatArray
    measured: FloatArray | None = None
    noise: FloatArray | None = None

    def restrict(self, rows: Sequence[int]) -> Sample:
        """The sample restricted to the statistics of these rows."""
        return self.at(list(rows))

    def at(self, index: Any) -> Sample:
        """The sample of some of its cells."""
        measured, noise = (None if part is None else part[index] for part in (self.measured, self.noise))
        return Sample(self.counts[index], measured, noise)

    @property
    def n(self) -> FloatArray:
        """The number of answers of each cell; nan instead of 0."""
        total = self.counts.sum(axis=-1)
        return np.asarray(np.where(total > 0, total, np.nan))

    @property
    def covariance(self) -> FloatArray | None:
        """The covariance of an answer's shares that, divided by n, is that of their mean; None as above."""
        if self.noise is None:
            return self.measured
        total = self.counts.sum(axis=-1)[..., None, None]
        varied = self.measured
        if varied is None:
            varied = multinomial_covariance(self.counts / np.maximum(total[..., 0], 1))
        return np.asarray(varied + total * self.noise)

    @property
    def design_effect(self) -> FloatArray:
        """The variance of an answer's shares relative to that of a drawn group (multinomial); at most 1."""
        if self.measured is None:
            return np.ones(self.counts.shape[:-1])
        p = self.counts / self.n[..., None]
        drawn = 1 - (p**2).sum(axis=-1)
        ratio = np.divide(
            np.trace(self.measured, axis1=-2, axis2=-1), drawn, out=np.ones_like(drawn), where=drawn > 0
        )
        return np.asarray(np.clip(ratio, ROUNDING, 1.0))

    @property
    def smoothed(self) -> SmoothedShares:
        """Shares smoothed by Dirichlet pseudo-answers: half an answer per group, times the design effect.

        An answer that varies less is worth several drawn ones, so its pseudo-answers are scaled down.
        """
        n, k = self.n[..., None], self.counts.shape[-1]
        added = SMOOTHING * self.design_effect[..., None]
        raw, even = self.counts / n, np.full(k, 1 / k)
        drawn = multinomial_covariance(raw)
        # The covariance of a mixture: within and between its parts. A difference of second moments would
        # cancel to rounding errors.
        weight = (n / (n + k * added))[..., None]
        answers = self.covariance
        within = weight * (drawn if answers is None else answers)
        pseudo = (1 - weight) * multinomial_covariance(even)
        covariance = within + pseudo + weight * (1 - weight) * outer(raw - even)
        return SmoothedShares(np.asarray((self.counts + added) / (n + k * added)), np.asarray(covariance))

    @property
    def effective(self) -> FloatArray:
        """The effective sample size of each share, (..., k): the drawn answers needed for the same precision.

        It is at least the number of answers, because no share varies more than that of a drawn group, except
        by ``noise``.
        """
        shares, covariance = self.smoothed
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        ratio = shares * (1 - shares) / np.maximum(variance, ROUNDING)
        return np.asarray(self.n[..., None] * np.maximum(ratio, 1.0 if self.noise is None else 0.0))

    @property
    def entropies(self) -> FloatArray:
        """The bias-corrected entropy of each cell over log k; may lie outside 0 to 1."""
        return jackknifed_entropies(self.counts, effect=self.design_effect)

    @property
    def likenesses(self) -> FloatArray:
        """The bias-corrected exp(-KL(highest || lowest)) of counts (..., 2, k); may lie outside 0 to 1."""
        return jackknifed_likenesses(self.counts, effect=self.design_effect)
