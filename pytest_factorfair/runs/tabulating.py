"""Count a run's records, without the copies of deterministic models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_factorfair import models
from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.measurement import Counts, attributed
from pytest_factorfair.domain import Case, Checklist, Record, plural

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run


def tabulate(run: Run, records: Sequence[Record]) -> tuple[Counts, ...]:
    """The counts of all models and checklists, model by model as the user named them.

    Without records all counts are 0, for planning.
    """
    counting, models = counted(run, records), run.settings.models
    tables: list[Counts] = []
    for checklist, cases in prompts(run):
        with attributed(f"the counts of checklist '{checklist.name}'"):
            measuring = benchmark_of(checklist).measuring
            tables += measuring.count(counting, checklist, cases, models=models, sampling=run.sampling)
    return tuple(sorted(tables, key=lambda counts: run.settings.models.index(counts.model)))


def prompts(run: Run) -> Iterator[tuple[Checklist, tuple[Case, ...]]]:
    """The run's checklists, each with its cases, which are the same for every model."""
    first_model = run.settings.models[0]
    for checklist in run.checklists:
        yield (
            checklist,
            tuple(
                assignment.case
                for assignment in run.assignments
                if assignment.checklist is checklist and assignment.model == first_model
            ),
        )


def counted(run: Run, records: Sequence[Record]) -> tuple[Record, ...]:
    """The records with the answers that count: without the copies of deterministic models."""
    return distinct(records, deterministic(run, records))


def deterministic(run: Run, records: Sequence[Record]) -> frozenset[str]:
    """The run's models, by spec, that always answer a prompt alike."""
    dropped: dict[str, set[str]] = {spec: set() for spec in run.models}
    for record in records:
        dropped.setdefault(record.case.model, set()).update(record.dropped)
    return frozenset(
        spec for spec, model in run.models.items() if models.deterministic(model.identity, dropped[spec])
    )


def distinct(records: Iterable[Record], deterministic: Collection[str]) -> tuple[Record, ...]:
    """Drops repeated answers of deterministic models, which are given by spec.

    Counting a copy would narrow an interval without a new observation: n counts distinct prompts.
    """
    return tuple(
        replace(record, answers=tuple(answer for answer in record.answers if not answer.repeat))
        if record.case.model in deterministic
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
