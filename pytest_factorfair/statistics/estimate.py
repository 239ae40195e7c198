"""A score with its uncertainty: what gates decide on and reports print."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot

from pytest_factorfair.statistics.bounds import quantile, wilson
from pytest_factorfair.statistics.largest import Several


@dataclass(frozen=True, slots=True)
class Estimate:
    """One score.

    ``corrected`` is the unclipped centre of the interval and may leave 0 to 1, ``error`` its
    standard error; both are None where ``reason`` says why the metric is not estimable. ``n`` as
    in a score. ``freedom`` are the degrees of Student's distribution, None for the normal;
    ``share`` marks a plain share of n, whose bounds are Wilson's. ``among`` are the shares of
    which the metric is the largest, and which bound it; it has no standard error of its own.
    """

    plugin: float | None
    corrected: float | None
    error: float | None
    n: int
    reason: str = ""
    freedom: int | None = None
    share: bool = False
    among: Several | None = field(default=None, compare=False)

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
