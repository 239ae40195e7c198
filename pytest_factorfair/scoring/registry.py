"""The protocols by name, and what is asked of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_factorfair.domain import Case, Checklist, Gate
from pytest_factorfair.scoring import measure as fact_or_fair
from pytest_factorfair.scoring.faintbench import measure as faintbench
from pytest_factorfair.scoring.measurement import (
    Counts,
    Estimation,
    Measurement,
    Measuring,
    Metric,
    Place,
    Reported,
    Told,
)

# Any: counts name their protocol, which no type can say.
AnyMeasuring: TypeAlias = Measuring[Any, Any]

PROTOCOLS: dict[str, AnyMeasuring] = {
    each.name: each for each in (fact_or_fair.MEASURING, faintbench.MEASURING)
}


def of_checklist(checklist: Checklist) -> AnyMeasuring:
    """The protocol of a checklist."""
    return PROTOCOLS[checklist.protocol]


def metrics() -> Mapping[str, Metric]:
    """Every metric of every protocol, by name."""
    found: dict[str, Metric] = {}
    for protocol in PROTOCOLS.values():
        for name, metric in protocol.metrics.items():
            found.setdefault(name, metric)
    return found


def by_protocol(counts: Sequence[Counts]) -> Iterator[tuple[AnyMeasuring, tuple[Counts, ...]]]:
    """The counts of each protocol that has any."""
    for name, protocol in PROTOCOLS.items():
        if mine := tuple(each for each in counts if each.protocol == name):
            yield protocol, mine


def selected(gate: Gate, counts: Sequence[Counts], estimation: Estimation) -> tuple[Measurement, ...]:
    """The scores that a gate ranges over; of a regression those whose change can be estimated."""
    return tuple(
        found
        for protocol, mine in by_protocol(counts)
        if gate.metric in protocol.metrics and (not gate.regression or protocol.changeable(gate.metric))
        for found in protocol.measure(gate.metric, gate.filters, mine, estimation)
    )


def places(model: str, checklist: Checklist, case: Case) -> frozenset[Place]:
    """Where further answers to a case belong; none for a case that is asked once."""
    return frozenset(Place(model, checklist.name, topic) for topic in of_checklist(checklist).topics(case))


def report(counts: Sequence[Counts], told: Told) -> Reported:
    """What a report says of all counts."""
    parts = [protocol.report(mine, told) for protocol, mine in by_protocol(counts)]
    return Reported(
        scores=tuple(row for part in parts for row in part.scores),
        headline=tuple(row for part in parts for row in part.headline),
        topics=tuple(row for part in parts for row in part.topics),
        prompts=tuple(row for part in parts for row in part.prompts),
        corrections=tuple(row for part in parts for row in part.corrections),
        notes=tuple(row for part in parts for row in part.notes),
    )
