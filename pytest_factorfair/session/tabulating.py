"""A run's records to tallies: what counts of them, and the questions behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_factorfair import models, scoring
from pytest_factorfair.domain import Checklist, Record
from pytest_factorfair.protocols.fact_or_fair.checklist import fact_or_fair, topic_cases
from pytest_factorfair.protocols.faintbench.checklist import Faintbench, PromptCase, faintbench, prompt_cases
from pytest_factorfair.scoring.faintbench import Gallery, gallery

if TYPE_CHECKING:
    from pytest_factorfair.scoring import Tally
    from pytest_factorfair.session.run import Assignment, Run


def tabulate(run: Run, records: Sequence[Record]) -> tuple[Tally, ...]:
    """The tallies of all models and checklists, model by model as the user named them."""
    counting = counted(run, records)
    tallies = [
        tally
        for checklist in fact_or_fair(run.checklists)
        for tally in scoring.tabulate(
            counting,
            checklist,
            topic_cases(one.case for one in _of(run, checklist)),
            models=run.settings.models,
            sampling=run.sampling,
        )
    ]
    return tuple(sorted(tallies, key=lambda tally: run.settings.models.index(tally.model)))


def galleries(run: Run, records: Sequence[Record]) -> tuple[Gallery, ...]:
    """The galleries of all models and FAIntbench checklists, model by model as the user named them."""
    return tuple(
        gallery(records, checklist, cases, model=model)
        for model in run.settings.models
        for checklist, cases in prompts(run)
    )


def prompts(run: Run) -> Iterator[tuple[Faintbench, tuple[PromptCase, ...]]]:
    """The run's FAIntbench checklists, each with the prompts of it that are asked."""
    for checklist in faintbench(run.checklists):
        yield checklist, prompt_cases(one.case for one in _of(run, checklist))


def counted(run: Run, records: Sequence[Record]) -> tuple[Record, ...]:
    """The records with the answers that count: all but the copies of models that draw nothing."""
    return scoring.distinct(records, deterministic(run, records))


def deterministic(run: Run, records: Sequence[Record]) -> frozenset[str]:
    """The run's models, by spec, that say the same to the same prompt."""
    notes: dict[str, set[str]] = {spec: set() for spec in run.models}
    for record in records:
        notes.setdefault(record.case.model, set()).update(record.notes)
    return frozenset(
        spec for spec, model in run.models.items() if models.deterministic(model.identity, notes[spec])
    )


def _of(run: Run, checklist: Checklist) -> list[Assignment]:
    """The checklist's cases in this run, the same for every model: as the first one has them."""
    first = run.settings.models[0]
    return [one for one in run.assignments if one.checklist is checklist and one.model == first]
