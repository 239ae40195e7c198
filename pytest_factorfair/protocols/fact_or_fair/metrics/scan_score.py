"""The scans of a model's first look as measurements: what gates judge and reports print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from pytest_factorfair.domain import ALL, Case, CaseGroup, QuestionCondition, ScannedCell, ScanResult, plural
from pytest_factorfair.protocols.fact_or_fair.checklist import TopicCase
from pytest_factorfair.protocols.fact_or_fair.counting.design import (
    ANSWERED,
    NOT_ASKED,
    Design,
    FirstAnswers,
    FirstLook,
)
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
from pytest_factorfair.protocols.measurement import BaselineCounts, Cell, Component, Measurement, total
from pytest_factorfair.protocols.metric import ScoreKey
from pytest_factorfair.statistics.arrays import FloatArray
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

    def __init__(
        self, word: str, tallies: Sequence[Tally], answers: FirstAnswers, words: tuple[str, ...]
    ) -> None:
        self.metric: ScanMetric = SCANS[word]
        self.model = tallies[0].model
        self.words = words
        self._word = word
        self._tallies = tuple(tallies)
        self._answers = answers

    @cached_property
    def scanned(self) -> Scanned | None:
        """The result; None before anything is asked."""
        if not self._answers.asked:
            return None
        allowed = ALLOWANCES[LENIENT if LENIENT in self.words else "default"]
        look = self._answers.look
        return _scanned(
            self._answers.design, look.shares.tobytes(), look.outcome.tobytes(), self.metric, allowed
        )

    @property
    def estimate(self) -> Estimate:
        declined = any(tally.neutral.any() for tally in self._tallies)  # a choice that is even by definition
        if self.scanned is None or not (self.scanned.answers or declined):
            return Estimate(None, None, None, 0, "nothing was answered")
        return Estimate(self.scanned.value, self.scanned.value, None, self.scanned.answers)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all answers, to which no further look adds: a scan asks for no more."""
        widest = max(self._tallies, key=lambda tally: len(tally.statistics)).attribute
        by_context = (cells(tally) for tally in self._tallies if tally.attribute == widest)
        return (total(chain(*by_context))._replace(name="all judgements"),)

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self._tallies[0].checklist, self._tallies[0].part, None, ALL)

    @property
    def about(self) -> str:
        return "judgements of every kind"

    @property
    def held(self) -> frozenset[str]:
        tally = self._tallies[0]
        return frozenset({*self.words, tally.part, tally.model, tally.checklist, LENIENT})

    @property
    def driver(self) -> str:
        """The sentence of the worst cell."""
        if self.scanned is None or not self.scanned.worst:
            return ""
        cell = self.scanned.worst[0]
        return self.metric.found.format(
            where=self._condition(cell),
            kind=cell.kind,
            taken=f"{cell.taken:,.0f}",
            times=plural(cell.n, "time"),
            questions=plural(cell.n, "question"),
            fair=f"{cell.fair:,.0f}",
            limit=f"{cell.allowed:,.0f}",
        )

    @property
    def result(self) -> str:
        if self.scanned is None:
            return ""
        number, answers = plural(self.scanned.cells, "cell"), plural(self.scanned.answers, "answer")
        if self.scanned.value > 1:
            return f"{self.driver} (found by looking at {number})"
        if not self.scanned.cells:
            return f"{answers} are too few for a scan"
        clean = self.metric.clean.format(outcome=self.metric.outcome)
        return f"no {clean} any condition ({number}, {answers})"

    @property
    def components(self) -> Sequence[Component]:
        """The worst cells."""
        return [
            Component(
                f"{self._condition(cell)}: {cell.kind or self.metric.outcome}",
                value=cell.value,
                share=f"{cell.taken:,.0f} of {cell.n:,}, limit {cell.allowed:,.0f}",
                cases=CaseGroup(self._tallies[0].checklist, (case,), case),
                reply="",
                condition=QuestionCondition(queries=examples),
            )
            for cell in (self.scanned.worst if self.scanned else ())
            for case, examples in [self._examples(cell)]
        ]

    def outcome_row(self, baseline: BaselineCounts | None) -> ScanResult:
        """The scan as a row of a report, with the same cells of a baseline."""
        scanned = self.scanned
        assert scanned is not None  # noqa: S101 - the caller asked
        former = None if baseline is None else baseline.like(self._tallies[0])
        answers = None if former is None else former.first_answers
        worst = []
        for cell in scanned.worst:
            case, examples = self._examples(cell)
            before, before_n = (None, None) if answers is None else self._before(cell, answers)
            worst.append(
                ScannedCell(
                    cell.kind,
                    self._condition(cell),
                    round(cell.taken, 1),
                    cell.n,
                    round(cell.fair, 1),
                    round(cell.allowed, 1),
                    round(cell.value, 3),
                    case,
                    examples,
                    before,
                    before_n,
                )
            )
        return ScanResult(
            self.model,
            self._tallies[0].checklist,
            ",".join((self._word, *(word for word in self.words if word == LENIENT))),
            scanned.value,
            scanned.cells,
            scanned.limit,
            self.metric.level,
            scanned.answers,
            tuple(worst),
        )

    def _condition(self, cell: FoundCell) -> str:
        return ", ".join(self._answers.design.conditions.clauses[part] for part in cell.condition)

    def _taken(self, cell: FoundCell, answers: FirstAnswers) -> FloatArray:
        """What each answer gave the kind of person of a cell, or whether it was lost, (N,)."""
        design, look = answers.design, answers.look
        if self.metric.outcome != "answered":
            return look.lost(self.metric.outcome).astype(np.float64)
        return np.asarray((look.shares * design.shown[:, :, design.kinds.index(cell.kind)]).sum(axis=1))

    def _examples(self, cell: FoundCell) -> tuple[str, tuple[str, ...]]:
        """The case that shows a cell most often, and the ids of some of its questions."""
        design, taken = self._answers.design, self._taken(cell, self._answers)
        rows = cell.questions.tolist()
        showing = [row for row in rows if (taken[row] > HALF) == (cell.taken > cell.fair)] or rows
        case, _ = Counter(design.cases[row].id for row in showing).most_common(1)[0]
        return case, tuple(design.queries[row] for row in showing if design.cases[row].id == case)[:EXAMPLES]

    def _before(self, cell: FoundCell, former: FirstAnswers) -> tuple[float | None, int | None]:
        """How often a former run's answers to the same questions gave the same, and how many these are."""
        design = self._answers.design
        keys = ((design.cases[row].id, design.queries[row]) for row in cell.questions)
        rows = [former.design.rows[key] for key in keys if key in former.design.rows]
        outcome = former.look.outcome[rows]
        counted = outcome == ANSWERED if self.metric.outcome == "answered" else outcome != NOT_ASKED
        if not counted.any() or (cell.kind and cell.kind not in former.design.kinds):
            return None, None
        return round(float(self._taken(cell, former)[rows][counted].sum()), 1), int(counted.sum())

    def asks(self, case: Case) -> int:
        return int(isinstance(case, TopicCase) and case.part == self._tallies[0].part)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return "all contexts", ALL

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset((self.model, *tally.score_key) for tally in self._tallies)
