"""``--factorfair-plan``: what a run would ask, cost and be able to tell; nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_factorfair.conclusion import declared_gates
from pytest_factorfair.gates import detectable, gate_subjects
from pytest_factorfair.looks import BOUNDARIES
from pytest_factorfair.outlook import CHARACTERS_PER_TOKEN, TOKENS_PER_ANSWER, Outlook

if TYPE_CHECKING:
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.run import Run


class Row(NamedTuple):
    """One score a gate ranges over, answers per topic and context, and what they can tell."""

    subject: str
    n: int
    change: str


class Showing:
    """Registered in place of the controller: items are collected, none is run, and something is told."""

    title = ""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._outlook = Outlook.of(run, stored=True)
        # No worker may start: xdist reads these when it is configured, which is after us.
        config.option.dist, config.option.tx = "no", []

    def lines(self) -> Iterator[str]:
        """What is told."""
        raise NotImplementedError

    def pytest_report_header(self) -> list[str]:
        return self._outlook.lines()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_sep("=", f"factorfair: {self.title}")
        for line in self.lines():
            terminalreporter.write_line(line)


class Plan(Showing):
    """What a run would ask, cost and be able to tell.

    Raises:
        InputError: a gate that cannot be judged in this run.
    """

    title = "plan"

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._run = run
        self._gates = declared_gates(run)
        super().__init__(config, run)

    def lines(self) -> Iterator[str]:
        """Calls, tokens and cost, then a line per gate and score."""
        plan, looks = self._outlook, self._run.settings.looks
        rest = plan.planned - plan.stored
        more = (
            f", at most {looks * plan.planned - plan.stored:,} if gates stay undecided" if looks > 1 else ""
        )
        yield f"calls: {rest:,}{more} ({plan.stored:,} of {plan.planned:,} answers are in the store)"
        written = plan.planned * TOKENS_PER_ANSWER
        yield f"tokens: about {self._tokens():,} in, {written:,} out, for all answers"
        yield f"cost: {'unknown' if plan.cost is None else f'about ${plan.cost:,.2f}'}"
        rows = [row for gate in self._gates for row in self._rows(gate)]
        width = max((len(row.subject) for row in rows), default=0)
        if rows:
            yield "smallest distance from a threshold told in 80 % of runs, by answers per topic and context:"
        yield from (f"{row.subject.ljust(width)}  {row.n:>6,}  {row.change}" for row in rows)

    def _tokens(self) -> int:
        letters = sum(len(query.prompt) for one in self._run.assignments for query in self._run.queries(one))
        return letters // CHARACTERS_PER_TOKEN

    def _rows(self, gate: Gate) -> Iterator[Row]:
        looks = self._run.settings.looks
        for subject, statistics in gate_subjects(gate, self._run.checklists, self._run.settings.models):
            checklist = next(one for one in self._run.checklists if one.name == subject.checklist)
            k = checklist.attribute(subject.attribute).k
            n = self._size(subject.checklist, subject.context, subject.attribute)
            for times in (1, looks) if looks > 1 else (1,):
                bound = BOUNDARIES[looks][times - 1]
                change = detectable(gate, k, statistics=len(statistics), n=n * times, bound=bound)
                place = f"{subject.context or subject.part},{subject.attribute}"
                told = "not foreseen" if change is None else f"{change:.3f}"
                yield Row(f"{gate.text} on {place}", n * times, told)

    def _size(self, checklist: str, context: str | None, attribute: str) -> int:
        """Answers per topic and context, all its scenarios together."""
        first = next(
            one.case
            for one in self._run.assignments
            if (one.checklist.name, one.case.context) == (checklist, context)
            and attribute in one.case.attributes
        )
        return first.samples * first.scenarios
