"""Count records, without the copies of deterministic models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.measurement import Counts
from pytest_factorfair.domain import Case, Checklist, Record, Sampling, plural
from pytest_factorfair.errors import attributed
from pytest_factorfair.models import protocol

if TYPE_CHECKING:
    from pytest_factorfair.models import Model

AskedCases: TypeAlias = Iterable[tuple[Checklist, Sequence[Case]]]
"""Checklists, each with the cases of it that every model is asked."""


def tabulate(
    records: Sequence[Record], asked: AskedCases, *, models: Mapping[str, Model], sampling: Sampling
) -> tuple[Counts, ...]:
    """The counts of all models and checklists, model by model; all are 0 without records.

    The copies of deterministic models do not count.
    """
    specs = tuple(models)
    asked = tuple(asked)
    copies_counted = [checklist.name for checklist, _ in asked if benchmark_of(checklist).counts_copies]
    counting = distinct(records, deterministic(models, records), copies_counted)
    tables: list[Counts] = []
    for checklist, cases in asked:
        with attributed(f"the counts of checklist '{checklist.name}'"):
            benchmark = benchmark_of(checklist)
            tables += benchmark.count(counting, checklist, cases, models=specs, sampling=sampling)
    return tuple(sorted(tables, key=lambda counts: specs.index(counts.model)))


def deterministic(models: Mapping[str, Model], records: Iterable[Record]) -> frozenset[str]:
    """The models, by spec, that always give the same answer to a prompt."""
    dropped: dict[str, set[str]] = {spec: set() for spec in models}
    for record in records:
        dropped.setdefault(record.case.model, set()).update(record.dropped)
    return frozenset(
        spec for spec, model in models.items() if protocol.deterministic(model.identity, dropped[spec])
    )


def distinct(
    records: Iterable[Record], deterministic: Collection[str], copies_counted: Collection[str] = ()
) -> tuple[Record, ...]:
    """Drops repeated answers of deterministic models, which are given by spec.

    Counting a copy would narrow an interval without a new observation: n counts distinct prompts. Some
    checklists ask whether all are copies: those of ``copies_counted`` keep them.
    """
    return tuple(
        replace(record, answers=tuple(answer for answer in record.answers if not answer.repeat))
        if record.case.model in deterministic and record.case.checklist not in copies_counted
        else record
        for record in records
    )


def copied(records: Iterable[Record], deterministic: Collection[str]) -> Iterator[str]:
    """One sentence for each of these models with answers that are copies."""
    counts: dict[str, list[int]] = {}
    for record in records:
        if record.case.model in deterministic:
            counted = counts.setdefault(record.case.model, [0, 0])
            counted[0] += sum(answer.repeat > 0 for answer in record.answers)
            counted[1] += len(record.answers)
    for model, (copies, answers) in counts.items():
        if copies:
            yield (
                f"{model}: {copies:,} of {plural(answers, 'answer')} repeat a prompt word for word, and the "
                "model is deterministic: they are copies and not counted"
            )
