"""Asking for reasons, after everything that is scored: ``--factorfair-explain``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_factorfair import protocols, reading
from pytest_factorfair.domain import Query, Reason, ReasonShare
from pytest_factorfair.errors import BudgetError, FatalModelError, StoreError
from pytest_factorfair.session.reason_shares import Asked, reason_shares

if TYPE_CHECKING:
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.ledger import Ledger
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Assignment, Run

Wanted: TypeAlias = "tuple[Assignment, Query]"


class Explained(NamedTuple):
    """What the reasons cite, and why some of them could not be had."""

    reasons: tuple[ReasonShare, ...] = ()
    notes: tuple[str, ...] = ()


def explain(execution: Execution, ledger: Ledger, progress: Meter) -> Explained:
    """Ask each model for its reasons, in the process that controls the run, once all items are done.

    These are other questions than those that are scored, and nothing here reaches the records.
    """
    run = execution.run
    if not run.explained:
        return Explained()
    if ledger.missing:
        return Explained(notes=("no reasons: they are asked for once all cases are answered",))
    wanted = tuple(_wanted(run, ledger))
    if not wanted:
        return Explained(notes=("no reasons: the models that tests asked are not those of the command line",))
    if run.settings.replay and not execution.stored((one.model, [query]) for one, query in wanted):
        return Explained(notes=("no reasons: the store has not all of them",))
    found: dict[Asked, list[Reason]] = {}
    stopped = ""
    progress.expect(sum(len(record.answers) for record in ledger.records) + len(wanted))
    try:
        for place, reason in _asked(execution, ledger, progress, wanted):
            found.setdefault(place, []).append(reason)
    except (BudgetError, FatalModelError, StoreError) as error:
        had = sum(map(len, found.values()))
        stopped = f"reasons: {had:,} of {len(wanted):,} were asked for: {error}"
    finally:
        progress.clear()
    return Explained(reason_shares(found), (stopped,) if stopped else ())


def _wanted(run: Run, ledger: Ledger) -> Iterator[Wanted]:
    """The questions about cases that the run's own models have answered."""
    for one, query in run.explained:
        record = ledger.record(one.key)
        if record is not None and run.had(one, record.answers[: one.case.samples], run.queries(one)):
            yield one, query


def _asked(
    execution: Execution, ledger: Ledger, progress: Meter, wanted: Sequence[Wanted]
) -> Iterator[tuple[Asked, Reason]]:
    from pytest_factorfair.engine import usage

    run = execution.run
    citations = {
        one.name: reading.Citations(one.attributes, protocols.citable(one)) for one in run.checklists
    }
    under_way = [(one, execution.engine.submit(run.models[one.model], [query])) for one, query in wanted]
    for one, future in under_way:
        (exchange,) = progress.wait(future)
        ledger.spend(execution.unaccounted(usage([exchange])))
        place = Asked(one.model, one.checklist.name, one.case.place[-1])
        yield place, reading.reason(exchange, citations[one.checklist.name])
