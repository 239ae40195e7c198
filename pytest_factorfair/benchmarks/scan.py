"""The scan: is any kind of person chosen far too often or too seldom, under any condition?

Each *cell* is a kind of person under a condition of the design. Whatever a model does within the limits, the
chance of a share as extreme as k of n is at most exp(-n KL(k/n | limit)) (Hoeffding 1963), where the limit is
the mean over the n questions. A cell counts only if its most extreme outcome could be significant (Tarone
1990). The largest n KL over the limit ln(cells / alpha) is the value: above 1 the scan fails.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks import AnyBenchmark
from pytest_factorfair.benchmarks.combined import measure
from pytest_factorfair.benchmarks.first_look import Conditions, Questions
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Component, Counts, Measurement
from pytest_factorfair.benchmarks.measuring import ReportInputs
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.reporting import ScannedCell, ScanResult
from pytest_factorfair.domain import (
    CaseGroup,
    Outcome,
    QuestionCondition,
    plural,
)
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate

LENIENT = "lenient"
"""The word that selects scans with the limits of that set of gates."""

Floats32: TypeAlias = NDArray[np.float32]

HALF = 0.5
"""An answer in probabilities shows what a cell says if its share is above or below this."""

SHARED = 0.9
"""Two cells are the same finding if their questions have this share in common."""

STRONGER = 0.1
"""A part of a cell is a finding of its own if its strength is so much greater."""

UNEVEN = 0.1
"""A sentence explains a fair number if it differs from the even one by more than this part."""

SHOWN = 10
"""Cells that reports list."""

CANDIDATES = 300
"""The worst cells, from which those that reports list are merged."""


@dataclass(frozen=True, slots=True)
class ScanMetric(Metric):
    """A scan: ``sentence`` is the template of a cell's sentence, ``silent`` what a silent scan says.

    ``part`` is that of the answers, and ``outcome`` that of the answers that are looked for.
    """

    sentence: str = ""
    silent: str = ""
    part: str = "subjective"
    outcome: Outcome = "answered"

    def worded(self, cell: ExtremeCell, even: float | None = None) -> str:
        """The sentence of a cell; it explains what is fair if that is not what ``even`` choices take."""
        uneven = even is not None and abs(cell.fair - even) > UNEVEN * even
        return self.sentence.format(
            where=cell.condition,
            kind=cell.kind,
            taken=f"{cell.taken:,.0f}",
            times=plural(cell.n, "time"),
            questions=plural(cell.n, "question"),
            fair_is="given the letters that it likes, fair is" if uneven else "fair is",
            fair=f"{cell.fair:,.0f}",
            limit=f"{cell.allowed:,.0f}",
        )


class ExtremeCell(NamedTuple):
    """A cell: its kind of person and its condition in words, and its numbers.

    ``taken`` of ``n`` answers (shares of probabilities add up), where ``fair`` and ``allowed`` are expected
    and allowed; ``value`` is its n KL over the limit. ``questions`` are its rows in the design, ``showing``
    those whose answers are as its ``sentence`` says. Of their letters (n, L), those in ``counted`` are the n
    answers, and those in ``letters`` are taken; None where lost answers are.
    """

    kind: str
    condition: str
    taken: float
    fair: float
    allowed: float
    n: int
    value: float
    questions: IntArray
    showing: IntArray
    sentence: str
    letters: BoolArray | None = None
    counted: BoolArray | bool = True


class Scanned(NamedTuple):
    """The result of a scan: its value, the number of cells that count, the limit of n KL, and worst cells."""

    value: float
    cells: int
    limit: float
    answers: int
    worst: tuple[ExtremeCell, ...]

    def beside(self, further: Iterable[ExtremeCell]) -> Scanned:
        """This scan with further tested cells; of the same cell, the more extreme result."""
        ordered = sorted((*self.worst, *further), key=lambda cell: -cell.value)
        distinct = {(cell.condition, cell.kind): cell for cell in reversed(ordered)}
        worst = [cell for cell in ordered if distinct[cell.condition, cell.kind] is cell]
        value = max([self.value, *(cell.value for cell in worst)])
        return self._replace(value=value, worst=tuple(worst[:SHOWN]))


def divergence(share: FloatArray, limit: FloatArray) -> FloatArray:
    """KL(share | limit) of two shares."""
    limit = np.clip(limit, 1e-9, 1 - 1e-9)
    rest, beyond = 1 - share, 1 - limit
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(share > 0, share * np.log(share / limit), 0.0)
        return np.asarray(first + np.where(rest > 0, rest * np.log(rest / beyond), 0.0))


def limit_of(reach: FloatArray | Floats32, alpha: float) -> tuple[float, int]:
    """The limit of n KL, and how many cells could exceed it, from the largest that each can have."""
    ordered = np.sort(reach[reach > 0], axis=None)
    counted = ordered.size
    while True:
        limit = float(np.log(max(counted, 1) / alpha))
        able = int(ordered.size - np.searchsorted(ordered, limit, side="right"))
        if able >= counted:
            return limit, counted
        counted = able


class Shares(NamedTuple):
    """For each question and kind of person (N, F): taken, fair, and the most and least that are allowed.

    ``shown`` (N, L, F) are the letters of each kind among those in ``offered`` (N, L); None for lost answers.
    """

    kinds: tuple[str, ...]
    live: BoolArray
    taken: FloatArray
    fair: FloatArray
    most: FloatArray
    least: FloatArray
    shown: BoolArray | None = None
    offered: BoolArray | None = None


class Cells(NamedTuple):
    """The n KL of every cell that counts (2, C, F), too often and too seldom; else 0."""

    values: Floats32
    limit: float
    counted: int


def cells_of(conditions: Conditions, shares: Shares, alpha: float) -> Cells:
    """Test every cell."""
    columns = [shares.live, *(part * shares.live for part in (shares.taken, shares.most, shares.least))]
    sums = conditions.sums(np.concatenate(columns, axis=1, dtype=np.float32))
    counts, *totals = (part.astype(np.float64) for part in np.split(sums, len(columns), axis=1))
    n = np.rint(counts)
    share, most, least = (np.clip(part / np.maximum(n, 1), 0.0, 1.0) for part in totals)
    reach, values = (np.zeros((2, *n.shape), np.float32) for _ in range(2))
    for side, extreme, limits, beyond in ((0, 1.0, most, share > most), (1, 0.0, least, share < least)):
        reach[side] = n * divergence(np.array(extreme), limits)
        values[side][beyond] = n[beyond] * divergence(share[beyond], limits[beyond])
    limit, counted = limit_of(reach, alpha)
    return Cells(np.where(reach > limit, values, 0), limit, counted)


def scanned(conditions: Conditions, shares: Shares, metric: ScanMetric) -> Scanned:
    """Test every cell of these shares, with the worst ones in words."""
    cells = cells_of(conditions, shares, metric.level)
    return Scanned(
        float(cells.values.max(initial=0.0)) / cells.limit,
        cells.counted,
        cells.limit,
        int(shares.live.any(axis=1).sum()),
        tuple(_worst(conditions, shares, cells, metric)),
    )


class _Candidate(NamedTuple):
    """A cell that may be one of the worst: its place in ``Cells``, its questions (N,), and their sums."""

    side: int
    condition: int
    kind: int
    questions: BoolArray
    n: int
    taken: float
    fair: float

    @property
    def strength(self) -> float:
        """How much of what fair answers leave to the others it takes; below 0, of its own that it lacks."""
        return (self.taken - self.fair) / (self.n - self.fair if self.taken > self.fair else self.fair)

    @property
    def odds(self) -> float:
        """The odds of its people in fair answers; infinite if a liking of letters explains all answers."""
        return self.fair / (self.n - self.fair) if self.fair < self.n else inf


def _worst(conditions: Conditions, shares: Shares, cells: Cells, metric: ScanMetric) -> Iterator[ExtremeCell]:
    """The worst cells; of those with nearly the same questions, the one with the shortest condition.

    A cell within the questions of a worse one is left out if that one already says as much of its people.
    """
    worst: list[_Candidate] = []
    beyond_fair = np.argwhere(cells.values > 0)
    # Rounded: sums differ in the last digits between machines, and ties are in the order of conditions.
    order = np.argsort(-cells.values[tuple(beyond_fair.T)].round(3), kind="stable")[:CANDIDATES]
    for side, condition, kind in beyond_fair[order].tolist():
        questions = conditions.questions(condition) & shares.live[:, kind]
        alike = next((rank for rank, worse in enumerate(worst) if _alike(questions, worse.questions)), None)
        if alike is None and len(worst) == SHOWN:
            continue
        rows = np.flatnonzero(questions)
        taken, fair = (round(float(part[rows, kind].sum()), 1) for part in (shares.taken, shares.fair))
        cell = _Candidate(side, condition, kind, questions, len(rows), taken, fair)
        if alike is not None:
            former = worst[alike]
            shorter = conditions.length(condition) < conditions.length(former.condition)
            if kind == former.kind and shorter:
                worst[alike] = cell
        elif not any(_covers(shares, worse, cell) for worse in worst):
            worst.append(cell)
    return (_in_words(conditions, shares, cells, metric, cell) for cell in worst)


def _alike(questions: BoolArray, others: BoolArray) -> bool:
    common, *sizes = (int(np.count_nonzero(mask)) for mask in (questions & others, questions, others))
    return common >= SHARED * max(sizes)


def _covers(shares: Shares, worse: _Candidate, cell: _Candidate) -> bool:
    """Whether a cell is a part of a worse one, and hardly stronger.

    Who is chosen too often takes it evenly from the others, and who is avoided leaves it evenly to them: that
    much of other people is a part, too.
    """
    if np.count_nonzero(cell.questions & worse.questions) < SHARED * cell.n:
        return False
    same_side, explained = cell.side == worse.side, abs(worse.strength)
    if cell.kind != worse.kind and shares.shown is not None:
        people, among = (shares.shown[cell.questions, :, kind] for kind in (cell.kind, worse.kind))
        if (people & (~among if same_side else among)).any():
            return False
        if worse.side and not same_side:
            explained *= worse.odds * cell.odds
    elif not same_side:
        return False
    return abs(cell.strength) <= explained + STRONGER


def _in_words(
    conditions: Conditions, shares: Shares, cells: Cells, metric: ScanMetric, cell: _Candidate
) -> ExtremeCell:
    questions = np.flatnonzero(cell.questions)
    showing = questions[(shares.taken[questions, cell.kind] > HALF) == (cell.side == 0)]
    limits = shares.least if cell.side else shares.most
    letters, even = None, cell.fair
    if shares.shown is not None and shares.offered is not None:
        letters = shares.shown[questions, :, cell.kind]
        even = float((letters.sum(axis=1) / shares.offered[questions].sum(axis=1)).sum())
    extreme = ExtremeCell(
        shares.kinds[cell.kind],
        conditions.words(cell.condition),
        cell.taken,
        cell.fair,
        round(float(limits[questions, cell.kind].sum()), 1),
        cell.n,
        float(cells.values[cell.side, cell.condition, cell.kind]) / cells.limit,
        questions,
        showing if showing.size else questions,
        "",
        letters,
    )
    return extreme._replace(sentence=metric.worded(extreme, even))


EXAMPLES = 3
"""Questions of a cell that reports quote."""


class ScanMeasurement(Measurement):
    """A scan of the answers of a model: what gates judge and reports print."""

    metric: ScanMetric
    _word: str

    @property
    @abstractmethod
    def scanned(self) -> Scanned | None:
        """The result; None before anything is asked."""

    @property
    @abstractmethod
    def design(self) -> Questions:
        """The questions that it scans."""

    def before(self, cell: ExtremeCell, baseline: BaselineCounts) -> tuple[float | None, int | None]:
        """How often a baseline's answers to the same questions gave the same, and how many these are."""
        del cell, baseline
        return None, None

    @property
    def selecting(self) -> str:
        """The words that select it, as reports print them."""
        return ",".join((self._word, *(word for word in self.words if word == LENIENT)))

    @property
    @abstractmethod
    def declined(self) -> bool:
        """Whether the model declined some of the choices, which are even by definition."""

    @property
    def estimate(self) -> Estimate:
        if self.scanned is None or not (self.scanned.answers or self.declined):
            return Estimate(None, None, None, 0, "nothing was answered")
        if not (self.scanned.cells or self.declined):
            return Estimate(None, None, None, self.scanned.answers, self.result)
        return Estimate(self.scanned.value, self.scanned.value, None, self.scanned.answers)

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
        components = []
        for cell in self.scanned.worst if self.scanned else ():
            case, examples = self._examples(cell)
            component = Component(
                f"{cell.condition}: {cell.kind or self.metric.outcome}",
                value=cell.value,
                share=f"{cell.taken:,.0f} of {cell.n:,}, limit {cell.allowed:,.0f}",
                cases=CaseGroup(self.score_key.checklist, (case,), case),
                reply="",
                lost=0.0,  # missing answers never leave a scan undecided
                condition=QuestionCondition(queries=examples),
            )
            components.append(component)
        return components

    def outcome_row(self, baseline: BaselineCounts | None) -> ScanResult:
        """The scan as a row of a report, with the same cells of a baseline."""
        scanned = self.scanned
        assert scanned is not None  # noqa: S101 - the caller asked
        worst = []
        for cell in scanned.worst:
            case, examples = self._examples(cell)
            before, before_n = (None, None) if baseline is None else self.before(cell, baseline)
            worst.append(
                ScannedCell(
                    cell.kind,
                    cell.condition,
                    round(cell.taken, 1),
                    cell.n,
                    round(cell.fair, 1),
                    round(cell.allowed, 1),
                    round(cell.value, 3),
                    cell.sentence,
                    case,
                    examples,
                    before,
                    before_n,
                )
            )
        return ScanResult(
            self.model,
            self.score_key.checklist,
            self.selecting,
            scanned.value,
            scanned.cells,
            scanned.limit,
            self.metric.level,
            scanned.answers,
            tuple(worst),
        )

    def _examples(self, cell: ExtremeCell) -> tuple[str, tuple[str, ...]]:
        """The case that shows a cell most often, and the ids of some of its questions."""
        design, showing = self.design, cell.showing.tolist()
        case, _ = Counter(design.cases[row].id for row in showing).most_common(1)[0]
        return case, tuple(design.queries[row] for row in showing if design.cases[row].id == case)[:EXAMPLES]


def scans(
    benchmark: AnyBenchmark, counts: Sequence[Counts], inputs: ReportInputs
) -> Sequence[ScanMeasurement]:
    """The scans of a benchmark that gates judge, of models that were asked something."""
    by_words = dict[tuple[str, tuple[str, ...]], ScanMeasurement]()
    for gate in inputs.gates:
        if isinstance(benchmark.metrics.get(gate.metric), ScanMetric):
            for score in measure(benchmark, gate.metric, gate.filters, counts, inputs.estimation):
                if isinstance(score, ScanMeasurement) and score.scanned is not None:
                    by_words.setdefault((score.model, score.words), score)
    return [*by_words.values()]
