"""The scans of a model's first look as measurements: what gates judge and reports print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from pytest_factorfair.domain import ALL, Case, CaseGroup, QuestionCondition, plural
from pytest_factorfair.protocols.fact_or_fair.checklist import TopicCase
from pytest_factorfair.protocols.fact_or_fair.counting.design import Design, FirstLook
from pytest_factorfair.protocols.fact_or_fair.counting.tally import LENIENT, Tally
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import cells
from pytest_factorfair.protocols.fact_or_fair.metrics.scan import (
    ALLOWANCES,
    SCANS,
    Allowance,
    FoundCell,
    ScanMetric,
    Scanned,
    scan,
    scan_lost,
)
from pytest_factorfair.protocols.measurement import Cell, Component, Measurement, total
from pytest_factorfair.protocols.metric import ScoreKey
from pytest_factorfair.statistics.estimate import Estimate

EXAMPLES = 3
"""Questions of a cell that reports quote."""

HALF = 0.5


@lru_cache(maxsize=16)  # further looks scan the same answers
def _scanned(
    design: Design, shares: bytes, outcome: bytes, metric: ScanMetric, allowed: Allowance
) -> Scanned:
    look = FirstLook(np.frombuffer(shares).reshape(design.offered.shape), np.frombuffer(outcome, np.int64))
    if metric.outcome == "answered":
        return scan(design, look, allowed, metric.level)
    return scan_lost(design, look, metric.outcome, allowed, metric.level)


class ScanScore(Measurement):
    """A scan of the first answers of a model; ``tallies`` are those of all contexts and attributes."""

    def __init__(self, word: str, tallies: Sequence[Tally], words: tuple[str, ...]) -> None:
        self.metric: ScanMetric = SCANS[word]
        self.model = tallies[0].model
        self.words = words
        self._tallies = tuple(tallies)

    @cached_property
    def _scan(self) -> Scanned:
        answers = self._tallies[0].first_answers
        assert answers is not None  # noqa: S101 - ``measure`` selects such tallies
        look = answers.look
        allowed = ALLOWANCES[LENIENT if LENIENT in self.words else "default"]
        return _scanned(answers.design, look.shares.tobytes(), look.outcome.tobytes(), self.metric, allowed)

    @property
    def _asked(self) -> bool:
        answers = self._tallies[0].first_answers
        return answers is not None and answers.asked

    @property
    def scanned(self) -> Scanned | None:
        """The result; None before anything is asked."""
        return self._scan if self._asked else None

    @property
    def estimate(self) -> Estimate:
        if self.scanned is None or not self.scanned.answers:
            return Estimate(None, None, None, 0, "nothing was answered")
        return Estimate(self.scanned.value, self.scanned.value, None, self.scanned.answers)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all answers: a scan asks for no more."""
        tally_cells = [cell for tally in self._widest for cell in cells(tally)]
        return (total(tally_cells)._replace(name="all judgements"),)

    @property
    def _widest(self) -> Sequence[Tally]:
        """The tallies of the attribute with the most topics, one for each context."""
        widest = max(self._tallies, key=lambda tally: len(tally.statistics)).attribute
        return [tally for tally in self._tallies if tally.attribute == widest]

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self._tallies[0].checklist, self._tallies[0].part, None, ALL)

    @property
    def about(self) -> str:
        return "judgements"

    @property
    def held(self) -> frozenset[str]:
        tally = self._tallies[0]
        return frozenset({*self.words, tally.part, tally.model, tally.checklist, LENIENT})

    @property
    def driver(self) -> str:
        worst = () if self.scanned is None else self.scanned.worst
        return self.in_sentence(worst[0]) if worst else ""

    @property
    def result(self) -> str:
        if self.scanned is None:
            return ""
        cells, answers = plural(self.scanned.cells, "cell"), plural(self.scanned.answers, "answer")
        if self.scanned.value > 1:
            return f"{self.driver} (found by looking at {cells})"
        if not self.scanned.cells:
            return f"{answers} are too few for a scan"
        return (
            f"no {self.metric.clean.format(outcome=self.metric.outcome)} any condition ({cells}, {answers})"
        )

    def in_sentence(self, cell: FoundCell) -> str:
        """A cell in words, with its numbers."""
        return self.metric.found.format(
            where=self.condition(cell),
            kind=cell.kind,
            taken=f"{cell.taken:,.0f}",
            times=plural(cell.n, "time"),
            questions=plural(cell.n, "question"),
            fair=f"{cell.fair:,.0f}",
            limit=f"{cell.allowed:,.0f}",
        )

    def condition(self, cell: FoundCell) -> str:
        answers = self._tallies[0].first_answers
        clauses = [] if answers is None else answers.design.conditions.clauses
        return ", ".join(clauses[part] for part in cell.condition)

    @property
    def components(self) -> Sequence[Component]:
        """The worst cells."""
        answers = self._tallies[0].first_answers
        if self.scanned is None or answers is None:
            return ()
        return tuple(self._component(cell, answers.design, answers.look) for cell in self.scanned.worst)

    def _component(self, cell: FoundCell, design: Design, look: FirstLook) -> Component:
        """A cell with the case that shows it most often, and examples from there."""
        rows = self._showing(cell, design, look)
        case, _ = Counter(design.cases[row].id for row in rows).most_common(1)[0]
        examples = [design.queries[row] for row in rows if design.cases[row].id == case][:EXAMPLES]
        return Component(
            f"{self.condition(cell)}: {cell.kind or self.metric.outcome}",
            value=cell.value,
            share=f"{cell.taken:,.0f} of {cell.n:,}, limit {cell.allowed:,.0f}",
            cases=CaseGroup(self._tallies[0].checklist, (case,), case),
            reply="",
            condition=QuestionCondition(queries=tuple(examples)),
        )

    def _showing(self, cell: FoundCell, design: Design, look: FirstLook) -> Sequence[int]:
        """The questions of a cell whose answers are as the cell says; all of them if there are none."""
        if self.metric.outcome == "answered":
            taken = (look.shares * design.shown[:, :, design.kinds.index(cell.kind)]).sum(axis=1)
        else:
            taken = look.lost(self.metric.outcome)
        typical = [row for row in cell.questions.tolist() if (taken[row] > HALF) == (cell.taken > cell.fair)]
        return typical or cell.questions.tolist()

    def asks(self, case: Case) -> int:
        return int(isinstance(case, TopicCase) and case.part == self._tallies[0].part)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return "all contexts", ALL

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset((self.model, *tally.score_key) for tally in self._tallies)
