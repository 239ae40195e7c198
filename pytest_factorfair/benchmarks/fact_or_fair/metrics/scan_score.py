"""The scans of a model's first look as measurements: what gates judge and reports print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.design import Design
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import (
    ANSWERED,
    NOT_ASKED,
    FactDesign,
    FirstAnswers,
    FirstLook,
)
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import LENIENT, Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.fact_scan import scan_facts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.measurements import cells
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scan import scan, scan_lost
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import (
    ALLOWANCES,
    SCANS,
    Allowance,
    ExtremeCell,
    ScanMetric,
    Scanned,
)
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Cell, Component, Measurement, total
from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import ALL, Case, CaseGroup, QuestionCondition, ScannedCell, ScanResult, plural
from pytest_factorfair.statistics.estimate import Estimate

EXAMPLES = 3
"""Questions of a cell that reports quote."""


@lru_cache(maxsize=16)  # further looks scan the same answers
def _scanned(
    design: Design | FactDesign, shares: bytes, outcome: bytes, metric: ScanMetric, allowed: Allowance
) -> Scanned:
    look = FirstLook(np.frombuffer(shares).reshape(design.offered.shape), np.frombuffer(outcome, np.int64))
    if isinstance(design, FactDesign):
        return scan_facts(design, look, metric, allowed)
    return (scan if metric.outcome == "answered" else scan_lost)(design, look, metric, allowed)


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
        judged = self.metric.part == "subjective"
        return self._scan(self._answers.look if judged else self._answers.look_at_facts)

    def _scan(self, look: FirstLook) -> Scanned:
        allowed = ALLOWANCES[LENIENT if LENIENT in self.words else "default"]
        return _scanned(self._design, look.shares.tobytes(), look.outcome.tobytes(), self.metric, allowed)

    @property
    def likeliest(self) -> str:
        """What a scan of the likeliest letters finds, if answers are probabilities; empty if nothing."""
        look = self._answers.look.likeliest if self.metric is SCANS["subjective"] else None
        if look is None or (scanned := self._scan(look)).value <= 1:
            return ""
        return f"{self.model}: at temperature 0, {scanned.worst[0].sentence} (reported, not judged)"

    @property
    def _design(self) -> Design | FactDesign:
        return self._answers.design if self.metric.part == "subjective" else self._answers.facts

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
        return (total(chain(*by_context))._replace(name=f"all {self._tallies[0].kind}"),)

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self._tallies[0].checklist, self._tallies[0].part, None, ALL)

    @property
    def about(self) -> str:
        return f"{self._tallies[0].kind} of every kind"

    @property
    def held(self) -> frozenset[str]:
        tally = self._tallies[0]
        return frozenset({*self.words, tally.part, tally.model, tally.checklist, LENIENT})

    @property
    def driver(self) -> str:
        """The sentence of the worst cell."""
        return self.scanned.worst[0].sentence if self.scanned and self.scanned.worst else ""

    @property
    def result(self) -> str:
        if self.scanned is None:
            return ""
        cell = "test" if self.metric.part == "objective" else "cell"
        number, answers = plural(self.scanned.cells, cell), plural(self.scanned.answers, "answer")
        if self.scanned.value > 1:
            return f"{self.driver} (found by looking at {number})"
        if not self.scanned.cells:
            return f"{answers} are too few for a scan"
        return f"{self.metric.silent.format(outcome=self.metric.outcome)} ({number}, {answers})"

    @property
    def components(self) -> Sequence[Component]:
        """The worst cells."""
        return [
            Component(
                f"{cell.condition}: {cell.kind or self.metric.outcome}",
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
                    cell.condition,
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

    def _examples(self, cell: ExtremeCell) -> tuple[str, tuple[str, ...]]:
        """The case that shows a cell most often, and the ids of some of its questions."""
        design, showing = self._design, cell.showing.tolist()
        case, _ = Counter(design.cases[row].id for row in showing).most_common(1)[0]
        return case, tuple(design.queries[row] for row in showing if design.cases[row].id == case)[:EXAMPLES]

    def _before(self, cell: ExtremeCell, former: FirstAnswers) -> tuple[float | None, int | None]:
        """How often a former run's judgements of the same questions gave the same, and how many these are."""
        if self.metric.part == "objective":
            return None, None
        design, look = former.design, former.look
        keys = ((self._design.cases[row].id, self._design.queries[row]) for row in cell.questions)
        rows = [design.rows[key] for key in keys if key in design.rows]
        if self.metric.outcome != "answered":
            taken = look.lost(self.metric.outcome)[rows]
            counted = look.outcome[rows] != NOT_ASKED
        elif cell.kind in design.kinds:
            of_kind = design.shown[rows][:, :, design.kinds.index(cell.kind)]
            taken = (look.shares[rows] * of_kind).sum(axis=1)
            counted = look.outcome[rows] == ANSWERED
        else:
            return None, None
        return round(float(taken[counted].sum()), 1), int(counted.sum())

    def asks(self, case: Case) -> int:
        return int(isinstance(case, TopicCase) and case.part == self._tallies[0].part)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return "all contexts", ALL

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset((self.model, *tally.score_key) for tally in self._tallies)
