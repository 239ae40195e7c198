"""A score with its uncertainty, which gates decide on and reports print; and the largest of several shares.

Each of several shares has Wilson's bounds; the largest is at most the largest upper bound, which needs no
correction (intersection-union), and at least the largest lower bound at a level divided by the number of
shares (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.bounds import quantile, wilson, wilsons

# The number of answers behind a share that is known.
KNOWN = np.inf


class Shares(NamedTuple):
    """Shares of ``n`` answers, or of queries; a share that is known has n infinite."""

    values: FloatArray
    n: FloatArray | IntArray | float


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """What a metric is the largest of: shares less those they are compared with, over ``scale``.

    ``found`` are the shares of the answers that came. ``least`` and ``most`` are shares of everything
    asked, with every missing answer counted against or for each share in turn: bounds hold however
    they might have gone. ``either_way`` takes the distance instead of the difference. ``parts``
    are the topics that the shares are of, where each is of one; ``names`` are for people, ``n`` is the
    number of answers or queries behind all of them.
    """

    names: tuple[str, ...]
    found: FloatArray
    least: Shares
    most: Shares
    against: Shares
    n: int
    scale: FloatArray | float = 1.0
    either_way: bool = False
    parts: tuple[Hashable, ...] = ()

    @property
    def values(self) -> FloatArray:
        difference = (self.found - self.against.values) / self.scale
        return np.asarray(np.abs(difference) if self.either_way else difference)

    @property
    def largest(self) -> str:
        """The name of the largest."""
        return self.names[int(self.values.argmax())]

    def lower(self, alpha: float) -> FloatArray:
        """Lower bounds that hold together with probability 1 - alpha."""
        return self.bounds(quantile(alpha / len(self.names)))[0]

    def upper(self, alpha: float) -> FloatArray:
        """Upper bounds, each at this level."""
        return self.bounds(quantile(alpha))[1]

    def bounds(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Each lowest and highest value, z standard errors away (Newcombe's method for differences)."""
        least, most, against = self.least.values, self.most.values, self.against.values
        beneath = np.hypot(least - wilsons(*self.least, z=-z), wilsons(*self.against, z=z) - against)
        above = np.hypot(wilsons(*self.most, z=z) - most, against - wilsons(*self.against, z=-z))
        low, high = (least - against - beneath) / self.scale, (most - against + above) / self.scale
        if self.either_way:
            return np.maximum(np.maximum(low, -high), 0.0), np.maximum(high, -low)
        return np.asarray(low), np.asarray(high)

    def undecided(self, threshold: float, alpha: float) -> frozenset[Hashable]:
        """The parts that more answers may bring to a threshold from above or below.

        Not those that are surely below it, nor those that could be on either side because of
        missing answers alone.
        """
        low, high = self.bounds(0.0)
        wanted = (self.upper(alpha) > threshold) & ((low > threshold) | (high <= threshold))
        return frozenset(part for part, one in zip(self.parts, wanted, strict=True) if one)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One score.

    ``corrected`` is the unclipped centre of the interval, which may lie outside 0 to 1, and ``error`` its
    standard error; both are None if the metric cannot be estimated, and ``reason`` says why. ``n`` is as
    in a score. ``freedom`` is the degrees of freedom of Student's distribution, None for the normal one;
    ``share`` marks a plain share of n, which has Wilson bounds. If the metric is the largest of several
    shares, ``among`` contains these shares, which bound it, and there is no standard error.
    """

    plugin: float | None
    corrected: float | None
    error: float | None
    n: int
    reason: str = ""
    freedom: int | None = None
    share: bool = False
    among: Several | None = field(default=None, compare=False)

    @property
    def shown(self) -> float | None:
        """The value without its bias, if that is known, else the plug-in value."""
        return self.plugin if self.corrected is None else self.corrected

    def lower(self, alpha: float = 0.05) -> float | None:
        """The one-sided lower bound: the true score is below it with probability alpha at most."""
        if self.among is not None:
            return float(self.among.lower(alpha).max())
        return self._bound(-quantile(alpha, self.freedom))

    def upper(self, alpha: float = 0.05) -> float | None:
        """The one-sided upper bound."""
        if self.among is not None:
            return float(self.among.upper(alpha).max())
        return self._bound(quantile(alpha, self.freedom))

    def less(self, former: Estimate, error: float | None = None) -> Estimate:
        """The change since a former estimate. Without ``error`` both are independent."""
        n = min(self.n, former.n)
        plain = None if self.plugin is None or former.plugin is None else self.plugin - former.plugin
        if self.corrected is None or self.error is None or former.corrected is None or former.error is None:
            return Estimate(plain, None, None, n, self.reason or f"in the baseline, {former.reason}")
        if error is None:
            error = hypot(self.error, former.error)
        return Estimate(plain, self.corrected - former.corrected, error, n)

    def _bound(self, z: float) -> float | None:
        if self.corrected is None or self.error is None:
            return None
        return wilson(self.corrected, self.n, z=z) if self.share else self.corrected + z * self.error


def error_of_share(share: float, n: int) -> float:
    """The standard error of a share of n answers, kept away from 0 and 1."""
    within = min(max(share, 0.01), 0.99)
    return sqrt(within * (1 - within) / n)


def share_of(few: int, many: int) -> Estimate:
    """The share of everything that was asked, with Wilson's bounds."""
    if not many:
        return Estimate(None, None, None, 0, "nothing was asked")
    share = few / many
    return Estimate(share, share, sqrt(share * (1 - share) / many), many, share=True)


def share_less(after: Estimate, before: Estimate) -> Estimate:
    """The difference of independent shares; one more answer of either kind keeps the error above 0."""
    n = min(after.n, before.n)
    if after.plugin is None or before.plugin is None:
        return Estimate(None, None, None, n, "nothing was asked")
    variance = 0.0
    for share, asked in ((after.plugin, after.n), (before.plugin, before.n)):
        near = (share * asked + 1) / (asked + 2)
        variance += near * (1 - near) / (asked + 2)
    difference = after.plugin - before.plugin
    return Estimate(difference, difference, sqrt(variance), n)
