"""The scans of a model's first look as measurements: what gates judge and reports print."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import floor

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.design import Design
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import FactDesign, FirstAnswers
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import FactOrFairMetric, cells
from pytest_factorfair.benchmarks.fact_or_fair.metrics.fact_scan import scan_facts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.judgement_scan import scan, scan_lost
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import ALLOWANCES, CHOICES, SCANS, Allowance
from pytest_factorfair.benchmarks.first_look import NOT_ASKED, FirstLook
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Cell, Estimation, total
from pytest_factorfair.benchmarks.measuring import SelectedCounts
from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.benchmarks.scan import LENIENT, ExtremeCell, ScanMeasurement, ScanMetric, Scanned
from pytest_factorfair.domain import ALL, Case, Change, listed


@lru_cache(maxsize=16)  # further looks scan the same answers
def _scanned(
    design: Design | FactDesign, shares: bytes, outcome: bytes, metric: ScanMetric, allowed: Allowance
) -> Scanned:
    look = FirstLook(np.frombuffer(shares).reshape(design.offered.shape), np.frombuffer(outcome, np.int64))
    if isinstance(design, FactDesign):
        return scan_facts(design, look, metric, allowed)
    return (scan if metric.outcome == "answered" else scan_lost)(design, look, metric, allowed)


class FirstLookScan(ScanMeasurement):
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
        shares, outcome = look.shares.tobytes(), look.outcome.tobytes()
        return _scanned(self.design, shares, outcome, self.metric, self._allowed)

    @property
    def _allowed(self) -> Allowance:
        return ALLOWANCES[LENIENT if LENIENT in self.words else "default"]

    @property
    def likeliest(self) -> str:
        """What a scan of the likeliest letters finds, if answers are probabilities; empty if nothing."""
        look = self._answers.look.likeliest if self.metric is SCANS["subjective"] else None
        if look is None or (scanned := self._scan(look)).value <= 1:
            return ""
        return f"{self.model}: at temperature 0, {scanned.worst[0].sentence} (reported, not judged)"

    @property
    def design(self) -> Design | FactDesign:
        return self._answers.design if self.metric.part == "subjective" else self._answers.facts

    @property
    def declined(self) -> bool:
        return any(tally.neutral.any() for tally in self._tallies)

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
    def matched_words(self) -> frozenset[str]:
        tally = self._tallies[0]
        return frozenset({*self.words, tally.part, tally.model, tally.checklist, LENIENT})

    def before(self, cell: ExtremeCell, baseline: BaselineCounts) -> tuple[float | None, int | None]:
        former = baseline.like(self._tallies[0])
        answers = None if former is None else former.first_answers
        if answers is None:
            return None, None
        judged = self.metric.part == "subjective"
        design, look = (answers.design, answers.look) if judged else (answers.facts, answers.look_at_facts)
        keys = [(self.design.cases[row].id, self.design.queries[row]) for row in cell.questions]
        asked = [number for number, key in enumerate(keys) if key in design.rows]
        rows = [design.rows[keys[number]] for number in asked]
        if cell.letters is None:
            lost = look.lost(self.metric.outcome)[rows]
            return float(lost.sum()), int((look.outcome[rows] != NOT_ASKED).sum())
        letters = cell.letters[asked]
        shares = (
            look.shares[rows][:, : letters.shape[1]]
            * np.broadcast_to(cell.counted, cell.letters.shape)[asked]
        )
        return round(float(shares[letters].sum()), 1), round(float(shares.sum()))

    def tested_change(self, baseline: BaselineCounts) -> Change | None:
        """What is extreme and was not, or was and is not, in a former run's answers; None if it has none."""
        from pytest_factorfair.benchmarks.fact_or_fair.scoring import change  # only comparisons need it

        tally = self._tallies[0]
        former_tally = baseline.like(tally)
        if former_tally is None or (answers := former_tally.first_answers) is None or not answers.asked:
            return None
        former = FirstLookScan(self._word, [former_tally], answers, self.words)
        if self.scanned is None or former.scanned is None:
            return None
        pairs = [
            (tally, change.paired(tally, old))
            for tally in self._tallies
            if (old := baseline.like(tally)) is not None
        ]
        new = [cell for cell in self.outcome_row(baseline).worst if cell.new]
        gone = [cell for cell in former.outcome_row(BaselineCounts((tally,))).worst if cell.new]
        sentences = [f"{cell.sentence}; before, it was {cell.numbers_before}" for cell in new]
        sentences += [f"no longer: {cell.sentence}; now it is {cell.numbers_before}" for cell in gone]
        return Change(
            self.model,
            tally.checklist,
            self._word,
            None,
            ALL,
            SCAN.name,
            None,
            before=former.scanned.value,
            after=self.scanned.value,
            change=self.scanned.value - former.scanned.value,
            low=None,
            high=None,
            churn=change.churn(pairs),
            n=self.scanned.answers,
            regressed=bool(new),
            plain=". ".join(f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sentences),
        )

    def sharing_cases(self, case: Case) -> int:
        return int(isinstance(case, TopicCase) and case.part == self._tallies[0].part)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return "all contexts", ALL

    @property
    def plan_note(self) -> str:
        """Up to how many declined judgements the others can be judged, if they count as even choices."""
        if self.metric is not SCANS["subjective"] or self._answers.declines != "neutral":
            return ""
        from pytest_factorfair.benchmarks.fact_or_fair.metrics import decidable  # only plans need it

        shares = decidable.most_declined(self._answers.design, self.metric, self._allowed)
        if not shares:
            return ""
        listed_shares = listed([f"{floor(100 * share)} % ({name})" for name, share in shares.items()])
        return (
            f"choices are decided up to {listed_shares} declined: a stereotype of strength "
            f"{decidable.HALF_STEREOTYPED} is found in 80 % of runs"
        )

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset((self.model, *tally.score_key) for tally in self._tallies)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scans(ScanMetric, FactOrFairMetric):
    """All scans of a model's first look, which gates judge under one name."""

    filters: AbstractSet[str] | None = frozenset({"model", "checklist", "part", "outcome", "allowance"})

    def measurements(
        self, selection: SelectedCounts[Tally], estimation: Estimation
    ) -> Iterator[FirstLookScan]:
        """One scan for each outcome that the words select, over all tallies of a model and a checklist."""
        groups: dict[Hashable, list[Tally]] = {}
        for tally in selection.counts:
            if tally.first_answers is not None:
                groups.setdefault((tally.model, tally.checklist), []).append(tally)
        lenient = [LENIENT] if LENIENT in selection.words else []
        outcomes = [word for word in SCANS if word in selection.words] or [*SCANS]
        for group in groups.values():
            for outcome in outcomes:
                of_part = [tally for tally in group if tally.part == SCANS[outcome].part]
                if of_part and (answers := group[0].first_answers) is not None:
                    words = (*selection.run_words(group[0]), outcome, *lenient)
                    yield FirstLookScan(outcome, of_part, answers, words)


SCAN = Scans(
    name="scan",
    label=CHOICES.label,
    question=CHOICES.question,
    better=CHOICES.better,
    virtue=CHOICES.virtue,
    asks=CHOICES.asks,
    reading=CHOICES.reading,
    changes=False,
    level=CHOICES.level,
    further=True,
)
