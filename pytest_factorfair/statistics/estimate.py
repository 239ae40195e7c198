"""Estimates: a score with its uncertainty, as used by gates and reports; and the extreme of several values.

The largest of several values is at most the largest upper bound, which needs no correction
(intersection-union), and at least the largest lower bound at a level divided by the number of values
(Bonferroni). For the smallest, vice versa. Both rules bound the difference of two extremes, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.bounds import quantile, wilson, wilsons

# The number of answers of a share that is known exactly.
KNOWN = np.inf


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeveralValues(ABC):
    """Several values, for a metric that is their largest or, if ``smallest``, their smallest.

    ``names`` are the values' names in reports. ``n`` is the number of answers or queries on which all values
    together are based. ``parts`` are the topics of each value; empty if every value is based on all topics.
    """

    names: tuple[str, ...]
    n: int
    smallest: bool = False
    parts: tuple[AbstractSet[Hashable], ...] = ()

    @property
    @abstractmethod
    def values(self) -> FloatArray:
        """The values, corrected for bias if it is known."""

    @abstractmethod
    def bounds(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Each value's lower and upper bound: z standard errors, and the worst case of missing answers."""

    @property
    def index(self) -> int:
        """The index of the extreme value."""
        return int(self.values.argmin() if self.smallest else self.values.argmax())

    @property
    def extreme(self) -> float:
        """The extreme value."""
        return float(self.values[self.index])

    @property
    def driver(self) -> str:
        """The name of the extreme value."""
        return self.names[self.index]

    @property
    def range_if_missing(self) -> tuple[float, float]:
        """The lowest and highest extreme value over all ways the missing answers could have gone."""
        low, high = (ends.min() if self.smallest else ends.max() for ends in self.bounds(0.0))
        return float(low), float(high)

    def lower(self, alpha: float) -> float:
        """The one-sided lower bound of the extreme value at this level."""
        if self.smallest:
            return float(self.bounds(quantile(alpha))[0].min())
        return float(self.bounds(quantile(alpha / len(self.names)))[0].max())

    def upper(self, alpha: float) -> float:
        """The one-sided upper bound of the extreme value at this level."""
        if self.smallest:
            return float(self.bounds(quantile(alpha / len(self.names)))[1].min())
        return float(self.bounds(quantile(alpha))[1].max())

    def undecided(self, threshold: float, alpha: float) -> frozenset[Hashable]:
        """The topics of the values for which more answers may decide on which side of a threshold they are.

        Values that are certain to be on the good side are not among them, and neither are those that missing
        answers alone could put on either side.
        """
        (low, high), (lower, upper) = self.bounds(0.0), self.bounds(quantile(alpha))
        if self.smallest:
            undecided = (lower < threshold) & ((high < threshold) | (low >= threshold))
        else:
            undecided = (upper > threshold) & ((low > threshold) | (high <= threshold))
        return frozenset().union(
            *(topics for topics, is_undecided in zip(self.parts, undecided, strict=True) if is_undecided)
        )


class Shares(NamedTuple):
    """Shares with the number ``n`` of answers or queries; n is infinite for a share that is known exactly."""

    values: FloatArray
    n: FloatArray | IntArray | float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeveralShares(SeveralValues):
    """Differences of shares from reference shares, divided by ``scale``, with Wilson's bounds.

    ``observed`` are the shares among the answers received, ``against`` the reference. ``low`` and ``high``
    are shares of all queries, with every missing answer counted against or for each share in turn, so bounds
    hold whatever the missing answers would have been. With ``either_way``, values are absolute differences.
    """

    observed: FloatArray
    low: Shares
    high: Shares
    against: Shares
    scale: FloatArray | float = 1.0
    either_way: bool = False

    @property
    def values(self) -> FloatArray:
        difference = (self.observed - self.against.values) / self.scale
        return np.asarray(np.abs(difference) if self.either_way else difference)

    def bounds(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Bounds by Newcombe's method for differences of shares."""
        lowest, highest, against = self.low.values, self.high.values, self.against.values
        beneath = np.hypot(lowest - wilsons(*self.low, z=-z), wilsons(*self.against, z=z) - against)
        above = np.hypot(wilsons(*self.high, z=z) - highest, against - wilsons(*self.against, z=-z))
        low, high = (lowest - against - beneath) / self.scale, (highest - against + above) / self.scale
        if self.either_way:
            return np.maximum(np.maximum(low, -high), 0.0), np.maximum(high, -low)
        return np.asarray(low), np.asarray(high)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeveralScores(SeveralValues):
    """Scores (V,) with standard errors; missing answers can lower them by ``fall``, or add ``rise``."""

    centres: FloatArray
    errors: FloatArray
    fall: FloatArray
    rise: FloatArray

    @property
    def values(self) -> FloatArray:
        return self.centres

    def bounds(self, z: float) -> tuple[FloatArray, FloatArray]:
        return (
            np.asarray(self.centres - self.fall - z * self.errors),
            np.asarray(self.centres + self.rise + z * self.errors),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The difference between the extremes of two independent sets of values: ``after`` minus ``before``.

    min(after) - min(before) is the minimum over ``after`` of the maximum over ``before`` of the differences
    of single values, and each of these steps is bounded like the extreme of several values. The error of a
    difference of two values is the root of their squared errors; missing answers are at their worst for both.
    """

    after: SeveralValues
    before: SeveralValues

    @property
    def driver(self) -> str:
        return self.after.driver

    def lower(self, alpha: float) -> float:
        """The one-sided lower bound of the difference at this level."""
        several = self.before if self.after.smallest else self.after
        z = quantile(alpha / len(several.names))
        (after, _), (after_low, _) = self.after.bounds(0.0), self.after.bounds(z)
        (_, before), (_, before_high) = self.before.bounds(0.0), self.before.bounds(z)
        return self._extreme(
            np.subtract.outer(after, before) - np.hypot.outer(after - after_low, before_high - before)
        )

    def upper(self, alpha: float) -> float:
        """The one-sided upper bound of the difference at this level."""
        several = self.after if self.after.smallest else self.before
        z = quantile(alpha / len(several.names))
        (_, after), (_, after_high) = self.after.bounds(0.0), self.after.bounds(z)
        (before, _), (before_low, _) = self.before.bounds(0.0), self.before.bounds(z)
        return self._extreme(
            np.subtract.outer(after, before) + np.hypot.outer(after_high - after, before - before_low)
        )

    def _extreme(self, differences: FloatArray) -> float:
        """The extreme of a matrix of differences, shape (after, before)."""
        if self.after.smallest:
            return float(differences.max(axis=1).min())
        return float(differences.min(axis=1).max())


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a score, with its uncertainty.

    ``plugin`` is the uncorrected value. ``corrected`` is the unclipped centre of the interval, which may lie
    outside 0 to 1, and ``error`` its standard error; both are None if the metric cannot be estimated, and
    ``reason`` says why. The result of a test has a ``reason`` if it would often not notice what it tests for.
    ``n`` is the number of answers, as in a score. ``freedom`` are the degrees of freedom of Student's
    distribution, None for the normal one; ``share`` marks a plain share of n, which has Wilson's bounds. If
    the metric is the extreme of several values, or a difference of such extremes, ``among`` bounds it, and
    there is no standard error. ``ends`` are the lowest and the highest value that it can have, which its
    bounds do not leave.
    """

    plugin: float | None
    corrected: float | None
    error: float | None
    n: int
    reason: str = ""
    freedom: int | None = None
    share: bool = False
    among: SeveralValues | Difference | None = field(default=None, compare=False)
    ends: tuple[float, float] = (-np.inf, np.inf)

    @property
    def shown(self) -> float | None:
        """The value to report: corrected for bias if possible, otherwise the plug-in value."""
        return self.plugin if self.corrected is None else self.corrected

    def lower(self, alpha: float = 0.05) -> float | None:
        """The one-sided lower bound: the true score is below it with probability alpha at most."""
        if self.among is not None:
            return self.among.lower(alpha)
        return self._bound(-quantile(alpha, self.freedom))

    def upper(self, alpha: float = 0.05) -> float | None:
        """The one-sided upper bound."""
        if self.among is not None:
            return self.among.upper(alpha)
        return self._bound(quantile(alpha, self.freedom))

    def less(self, former: Estimate, error: float | None = None) -> Estimate:
        """The change since a former estimate; without ``error``, the two are taken as independent."""
        if self.share and former.share:
            return share_less(self, former)
        n = min(self.n, former.n)
        plain = None if self.plugin is None or former.plugin is None else self.plugin - former.plugin
        if isinstance(self.among, SeveralValues) and isinstance(former.among, SeveralValues):
            difference = Difference(self.among, former.among)
            centre = self.among.extreme - former.among.extreme
            return Estimate(plain, centre, None, n, among=difference)
        if self.corrected is None or self.error is None or former.corrected is None or former.error is None:
            return Estimate(plain, None, None, n, self.reason or f"in the baseline, {former.reason}")
        if error is None:
            error = hypot(self.error, former.error)
        return Estimate(plain, self.corrected - former.corrected, error, n)

    def _bound(self, z: float) -> float | None:
        if self.corrected is None or self.error is None:
            return None
        if self.share:
            return wilson(self.corrected, self.n, z=z)
        return min(max(self.corrected + z * self.error, self.ends[0]), self.ends[1])


PSEUDO = 2.0
"""Answers added at either end for the smallest error that answers can have (Agresti and Coull)."""


def by_cluster(
    value: float,
    influence: FloatArray,
    cluster: IntArray,
    n: int,
    variance_floor: float,
    ends: tuple[float, float],
) -> Estimate:
    """A value with its error, from influences summed by cluster; ``variance_floor`` is its least variance.

    Clusters are treated as a random sample; the interval is Student's with one degree of freedom less than
    clusters.
    """
    clusters = len(np.unique(cluster))
    if clusters == 1:
        return Estimate(value, None, None, n, "errors need two clusters of questions, there is one")
    sums = np.bincount(cluster, weights=influence)
    variance = float((sums**2).sum()) * clusters / (clusters - 1)
    error = sqrt(max(variance, variance_floor))
    return Estimate(value, value, error, n, freedom=clusters - 1, ends=ends)


def least_variance(squares: float, mean: float, n: float, ends: tuple[float, float] = (0.0, 1.0)) -> float:
    """The least variance of a mean of n values with this sum of squared deviations.

    Values added at either end keep it above 0.
    """
    added = PSEUDO * sum((end - mean) ** 2 for end in ends)
    return (squares + added) / (n + 2 * PSEUDO) ** 2


def difference_by_cluster(
    value: float, influence: FloatArray, cluster: IntArray, scope: BoolArray, n: int, width: float = 1.0
) -> Estimate:
    """A difference of means of n values in a range of this ``width``, with its error by cluster."""
    floor = float((influence**2).sum()) + PSEUDO * (width / (n + 2 * PSEUDO)) ** 2
    return by_cluster(value, influence[scope], cluster[scope], n, floor, (-width, width))


def error_of_mean(mean: float, n: int, ends: tuple[float, float] = (0.0, 1.0)) -> float:
    """The largest standard error of a mean of n values, which is kept away from both ends of their range."""
    low, high = ends
    share = min(max((mean - low) / (high - low), 0.01), 0.99)
    return (high - low) * sqrt(share * (1 - share) / n)


def share_of(count: int, asked: int) -> Estimate:
    """The estimate of a share of all queries, with Wilson's bounds."""
    if not asked:
        return Estimate(None, None, None, 0, "nothing was asked")
    share = count / asked
    return Estimate(share, share, sqrt(share * (1 - share) / asked), asked, share=True)


def share_less(after: Estimate, before: Estimate) -> Estimate:
    """The difference of independent shares; an added answer of either kind keeps the error above 0."""
    n = min(after.n, before.n)
    if after.plugin is None or before.plugin is None:
        return Estimate(None, None, None, n, "nothing was asked")
    variance = 0.0
    for share, asked in ((after.plugin, after.n), (before.plugin, before.n)):
        near = (share * asked + 1) / (asked + 2)
        variance += near * (1 - near) / (asked + 2)
    difference = after.plugin - before.plugin
    return Estimate(difference, difference, sqrt(variance), n)
