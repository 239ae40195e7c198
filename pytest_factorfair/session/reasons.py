"""``--factorfair-explain``: asking for reasons after everything that is scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair import protocols
from pytest_factorfair.domain import CITATIONS, Reason, ReasonShare
from pytest_factorfair.errors import BudgetError, FatalModelError, StoreError
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson

if TYPE_CHECKING:
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.ledger import Ledger
    from pytest_factorfair.session.progress import Meter

QUOTED = 3
"""Quoted reasons per citation."""

LONGEST = 240
"""Characters of a quotation."""


class ReasonContext(NamedTuple):
    """The context in which a model was asked for reasons."""

    model: str
    checklist: str
    context: str


def reason_shares(reasons: Mapping[ReasonContext, Sequence[Reason]]) -> Iterator[ReasonShare]:
    """For each context, in order, the share of given reasons that cite each thing.

    A reason may cite several things, or none. 95 % intervals are Wilson's.
    """
    z = quantile(BEYOND)
    for place, given in reasons.items():
        outcomes = Counter(one.outcome for one in given)
        n = outcomes["answered"]
        for citation in CITATIONS:
            citing = [one.text for one in given if citation in one.cited]
            share = len(citing) / n if n else None
            quoted = list(dict.fromkeys(citing))[:QUOTED]
            yield ReasonShare(
                *place,
                citation=citation,
                share=share,
                low=None if share is None else wilson(share, n, z=-z),
                high=None if share is None else wilson(share, n, z=z),
                count=len(citing),
                n=n,
                asked=len(given),
                refused=outcomes["refused"],
                unparsed=outcomes["unparsed"],
                errors=outcomes["error"],
                quotations=tuple(
                    text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in quoted
                ),
            )


class Explained(NamedTuple):
    """The citations of reasons, and why some reasons are missing."""

    reasons: tuple[ReasonShare, ...] = ()
    notes: tuple[str, ...] = ()


def explain(execution: Execution, ledger: Ledger, progress: Meter) -> Explained:
    """Ask each model for its reasons, in the process that controls the run, once all items are done.

    These queries are not scored and never reach the records. Only cases that the run's own models have
    answered are asked about.
    """
    run = execution.run
    if not run.explained:
        return Explained()
    if ledger.missing:
        return Explained(notes=("no reasons: they are asked for once all cases are answered",))
    wanted = [
        (one, query)
        for one, query in run.explained
        if (record := ledger.record(one.key)) is not None
        and run.had(one, record.answers[: one.case.samples], run.queries(one))
    ]
    if not wanted:
        return Explained(notes=("no reasons: the models that tests asked are not those of the command line",))
    if run.settings.replay and not execution.stored((one.model, [query]) for one, query in wanted):
        return Explained(notes=("no reasons: the store has not all of them",))
    from pytest_factorfair.reading.reasons import Citations, reason

    citations = {
        one.name: Citations(one.attributes, protocols.citable(one), one.language) for one in run.checklists
    }
    reasons: dict[ReasonContext, list[Reason]] = {}
    stopped = ""
    progress.expect(sum(len(record.answers) for record in ledger.records) + len(wanted))
    try:
        under_way = [(one, execution.engine.submit(run.models[one.model], [query])) for one, query in wanted]
        for one, future in under_way:
            (exchange,) = progress.wait(future)
            ledger.spend(execution.unaccounted([exchange]))
            place = ReasonContext(one.model, one.checklist.name, one.case.place[-1])
            reasons.setdefault(place, []).append(reason(exchange, citations[one.checklist.name]))
    except (BudgetError, FatalModelError, StoreError) as error:
        had = sum(map(len, reasons.values()))
        stopped = f"reasons: {had:,} of {len(wanted):,} were asked for: {error}"
    finally:
        progress.clear()
    return Explained(tuple(reason_shares(reasons)), (stopped,) if stopped else ())
