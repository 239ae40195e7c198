"""The class that a benchmark of one's own derives from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from pytest_factorfair.protocols.measurement import C
from pytest_factorfair.protocols.measuring import Measuring
from pytest_factorfair.protocols.metric import Metric
from pytest_factorfair.protocols.protocol import Asking, Entry, Value
from pytest_factorfair.protocols.reporting import Reporting


class Benchmark(Asking[Value, Entry], Measuring[C, Metric], Reporting, Generic[Value, Entry, C]):
    """A benchmark in one class: what it asks, how answers are measured, and what it prints.

    The shipped benchmarks have a class for each part, because a worker, which only asks, then imports less.
    """

    @property
    def measuring(self) -> Measuring[Any, Any]:
        return self

    @property
    def reporting(self) -> Reporting:
        return self

    @property
    def printed(self) -> Mapping[str, Metric]:
        """All metrics but rates of lost answers."""
        return {name: metric for name, metric in self.metrics.items() if not metric.counts_losses}
