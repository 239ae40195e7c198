"""``--factorfair-explain``: asking for reasons after everything that is scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.domain import CITATIONS, Reason, ReasonCitations, ReasonShare
from pytest_factorfair.errors import BudgetError, FatalModelError, StoreError
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson

if TYPE_CHECKING:
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.ledger import Ledger
    from pytest_factorfair.runs.progress import Meter

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
    for context, context_reasons in reasons.items():
        outcomes = Counter(reason.outcome for reason in context_reasons)
        n = outcomes["answered"]
        for citation in CITATIONS:
            citing = [reason.text for reason in context_reasons if citation in reason.cited]
            share = len(citing) / n if n else None
            quoted = list(dict.fromkeys(citing))[:QUOTED]
            yield ReasonShare(
                *context,
                citation=citation,
                share=share,
                low=None if share is None else wilson(share, n, z=-z),
                high=None if share is None else wilson(share, n, z=z),
                count=len(citing),
                n=n,
                asked=len(context_reasons),
                refused=outcomes["refused"],
                unparsed=outcomes["unparsed"],
                errors=outcomes["error"],
                quotations=tuple(
                    text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in quoted
                ),
            )


def explain(execution: Execution, ledger: Ledger, progress: Meter) -> ReasonCitations:
    """Ask each model for its reasons, in the process that controls the run, once all items are done.

    These queries are not scored and never reach the records. Only cases that the run's own models have
    answered are asked about.
    """
    run = execution.run
    if ledger.missing:
        return ReasonCitations(notes=("no reasons: they are asked for once all cases are answered",))
    to_explain = [
        (assignment, query)
        for assignment, query in run.explained
        if (record := ledger.record(assignment.key)) is not None
        and run.matches(assignment, record.answers[: assignment.case.samples], run.queries(assignment))
    ]
    if not to_explain:
        return ReasonCitations(
            notes=("no reasons: the models that tests asked are not those of the command line",)
        )
    if run.settings.reuse == "only" and not execution.responses.has(
        run.keys((assignment.model, [query]) for assignment, query in to_explain)
    ):
        return ReasonCitations(notes=("no reasons: the store has not all of them",))
    from pytest_factorfair.reading.reasons import Citations, reason

    citations = {
        checklist.name: Citations(
            checklist.attributes, benchmark_of(checklist).citable(checklist), checklist.language
        )
        for checklist in run.checklists
    }
    reasons: dict[ReasonContext, list[Reason]] = {}
    stopped = ""
    progress.expect(sum(len(record.answers) for record in ledger.records) + len(to_explain))
    try:
        asked = execution.ask(((assignment.model, [query]) for assignment, query in to_explain), progress)
        for (assignment, _), (exchange,) in zip(to_explain, asked, strict=True):
            ledger.spend(execution.account.unaccounted([exchange]))
            context = ReasonContext(assignment.model, assignment.checklist.name, assignment.case.path[-1])
            reasons.setdefault(context, []).append(reason(exchange, citations[assignment.checklist.name]))
    except (BudgetError, FatalModelError, StoreError) as error:
        answered = sum(map(len, reasons.values()))
        stopped = f"reasons: {answered:,} of {len(to_explain):,} were asked for: {error}"
    finally:
        progress.clear()
    return ReasonCitations(tuple(reason_shares(reasons)), (stopped,) if stopped else ())
