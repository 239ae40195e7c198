"""The score of a scan of a model's answers to items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from pytest_factorfair.benchmarks.first_look import ANSWERED, NOT_ASKED
from pytest_factorfair.benchmarks.items.checklist import ItemCase
from pytest_factorfair.benchmarks.items.scan import CHOICES, SCANS, ItemAnswers, ItemDesign, scanned_in
from pytest_factorfair.benchmarks.items.votes import Votes
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Cell, Estimation
from pytest_factorfair.benchmarks.measuring import SelectedCounts
from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.benchmarks.scan import LENIENT, ExtremeCell, ScanMeasurement, ScanMetric, Scanned
from pytest_factorfair.domain import ALL, Case
from pytest_factorfair.statistics.arrays import BoolArray


class ItemScan(ScanMeasurement):
    """A scan of a model's answers to all items that it is about."""

    narrowed_by_repeats = False

    def __init__(self, word: str, votes: Votes, answers: ItemAnswers, words: tuple[str, ...]) -> None:
        self.metric: ScanMetric = SCANS[word]
        self.model = votes.model
        self.words = words
        self._word = word
        self._votes = votes
        self._answers = answers

    @cached_property
    def scanned(self) -> Scanned | None:
        if not self._answers.asked:
            return None
        return self._answers.scanned(self._word, LENIENT if LENIENT in self.words else "default")

    @property
    def design(self) -> ItemDesign:
        return self._answers.design(self._word)

    @property
    def declined(self) -> bool:
        return bool(self._votes.declined[self.rows].any())

    @property
    def rows(self) -> BoolArray:
        """The items that it is about, (items,)."""
        return np.array([scanned_in(self._word, case) for case in self._votes.key.cases], np.bool_)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all its questions."""
        return (self._votes.at(self.rows).cell(f"all {self._word}"),)

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        return ceil(self.metric.needed / max(int(self.rows.sum()), 1))

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self._votes.checklist, self._word, None, ALL)

    @property
    def about(self) -> str:
        return f"{self._word} of every kind"

    @property
    def matched_words(self) -> frozenset[str]:
        return frozenset({*self.words, self.model, self._votes.checklist, LENIENT})

    def before(self, cell: ExtremeCell, baseline: BaselineCounts) -> tuple[float | None, int | None]:
        former = baseline.like(self._votes)
        answers = None if former is None else former.answers
        if answers is None or self._word not in answers.questions.words:
            return None, None
        design, look = answers.design(self._word), answers.look(self._word)
        keys = ((self.design.cases[row].id, self.design.queries[row]) for row in cell.questions)
        rows = [design.rows[key] for key in keys if key in design.rows]
        if self._word == "refusals":
            asked = look.outcome[rows] != NOT_ASKED
            return float(look.lost("refused")[rows][asked].sum()), int(asked.sum())
        rows = [row for row in rows if look.outcome[row] == ANSWERED]
        shares = look.shares[rows]
        if self._word == "choices":
            if cell.kind not in design.kinds:
                return None, None
            shown = design.shown[rows][:, :, design.kinds.index(cell.kind)]
            return round(float((shares * shown).sum()), 1), round(float((shares * design.people[rows]).sum()))
        counted = float((shares * design.counted[rows]).sum())
        return round(len(rows) - counted if self._word == "errors" else counted, 1), len(rows)

    def sharing_cases(self, case: Case) -> int:
        return int(
            isinstance(case, ItemCase)
            and case.checklist == self._votes.checklist
            and scanned_in(self._word, case)
        )

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self._word, ALL

    @property
    def covers(self) -> frozenset[Hashable]:
        parts = [] if self._word == "refusals" else self._votes.key.part[self.rows].tolist()
        return frozenset((self.model, self._votes.checklist, part) for part in parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scans(ScanMetric):
    """All scans of a model's answers, which gates judge under one name."""

    filters: AbstractSet[str] | None = frozenset({"model", "checklist", "scan", "allowance"})

    def measurements(self, selection: SelectedCounts[Votes], estimation: Estimation) -> Iterator[ItemScan]:
        """The scans that the words select, of each model and checklist."""
        for votes in selection.counts:
            if votes.answers is not None:
                for word in votes.answers.questions.words:
                    if selection.allows("scan", word):
                        words = (*selection.run_words(votes), word, *selection.by_kind["allowance"])
                        yield ItemScan(word, votes, votes.answers, words)


SCAN = Scans(
    name="scan",
    label=CHOICES.label,
    question=CHOICES.question,
    better=CHOICES.better,
    virtue=CHOICES.virtue,
    asks=CHOICES.asks,
    reading=CHOICES.reading,
    needed=CHOICES.needed,
    changes=False,
    level=CHOICES.level,
)
