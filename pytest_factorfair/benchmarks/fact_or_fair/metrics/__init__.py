"""The metrics of FACT-OR-FAIR by name.

Each metric is declared once, with all its computations: scores in ``scores``, the largest of several shares
in ``largest``, evenness by condition in ``within``, every condition in ``scan``. ``base`` has
their interface, and ``measurements`` has the scores of tallies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_factorfair.benchmarks.fact_or_fair.checklist import Background
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import FEW, TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import COLUMNS, INFLUENCE
from pytest_factorfair.benchmarks.fact_or_fair.metrics.largest import LARGEST
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import SCAN
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import SCORES, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import CROSSED, S_E_WITHIN, WITHIN
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.rates import FILTERED_RATE, rates

OF_CONTEXTS = Metric(
    name=INFLUENCE,
    label="influence",
    question="how far does what precedes a question move the answer?",
    better="lower",
    plain="what precedes a question draws {amount} more of 100 answers to the group that it names",
    virtue="does not follow what precedes a question",
    asks="a context that names a group",
    ahead="follows what precedes a question less",
    signed=True,
    balanced=True,
    needed=FEW,
)

RATES = rates() | {FILTERED_RATE.name: FILTERED_RATE}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (*SCORES, S_E_WITHIN, *LARGEST, CROSSED, SCAN, *RATES.values(), OF_CONTEXTS)
}
"""The metrics by name, in the order of reports."""


FURTHER: dict[str, Metric] = {
    **{metric.name: metric for metric in WITHIN.values()},
    **{name: METRICS[name] for name in ("group_share", CROSSED.name, "worst_fact", "name_preference")},
    INFLUENCE: OF_CONTEXTS,
    **{
        f"{INFLUENCE}_{word}": replace(
            OF_CONTEXTS, name=f"{INFLUENCE}_{word}", label=f"{INFLUENCE} ({word.replace('_', ' ')})"
        )
        for word in COLUMNS.values()
    },
}
"""The metrics besides scores on which models, or two runs, are compared, by their names in reports."""


def applying(part: str, background: Background) -> Iterator[TallyMetric]:
    """The metrics of a tally of this part and context, without ``crossed``, which covers several contexts."""
    for metric in METRICS.values():
        if isinstance(metric, TallyMetric) and metric is not CROSSED and metric.applies(part, background):
            yield metric


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
