"""The metrics of FACT-OR-FAIR by name.

Each metric is declared once, with all its computations and its measurements: scores in ``scores``, the
largest of several shares in ``largest``, evenness by condition in ``within``, contexts in ``influence``,
every condition in ``scan_score``. ``base`` has their interface.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import FactOrFairMetric, LostRate, TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import OF_CONTEXTS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.largest import LARGEST
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scan_score import SCAN
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import SCORES, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import CROSSED, S_E_WITHIN
from pytest_factorfair.benchmarks.rates import filtered_rate, rates

RATES = rates(LostRate) | filtered_rate(LostRate)

METRICS: dict[str, FactOrFairMetric] = {
    metric.name: metric
    for metric in (*SCORES, S_E_WITHIN, *LARGEST, CROSSED, SCAN, *RATES.values(), OF_CONTEXTS)
}
"""The metrics by name, in the order of reports."""


def columns() -> dict[str, TallyMetric]:
    """The metrics that have a column in reports, by name."""
    return {
        name: metric for name, metric in METRICS.items() if isinstance(metric, TallyMetric) and metric.column
    }


def compared(part: str) -> Iterator[JointScore]:
    """The scores of a part on which models, or two runs, are compared."""
    for metric in METRICS.values():
        if isinstance(metric, JointScore) and metric.compared == part:
            yield metric
