"""The answers to a canary, and how those of two runs differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.canary import BASELINE_REPEATS, REPEATS
from pytest_factorfair.benchmarks.canary.checklist import PART
from pytest_factorfair.benchmarks.measurement import (
    ALLOWED,
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
)
from pytest_factorfair.benchmarks.measuring import SelectedCounts
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.domain import ALL, WORDING, Answer, Case, CaseGroup, plural
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.bounds import NOTICED
from pytest_factorfair.statistics.differing import DECIMALS, difference, most_by_chance, power
from pytest_factorfair.statistics.estimate import Estimate

FEWEST = 2
"""The fewest answers to a question that show how steady a model is."""

ONE_SIDED = 0.8
"""The largest share of one answer. A model above it hardly reads the questions: a change would not show."""

CHANGED = 0.1
"""The share of questions with another first choice that a run should notice."""

POWER = 0.9
"""The share of runs that should notice such a change; if fewer than ``NOTICED`` would, none passes."""

ENOUGH_QUESTIONS = ceil(log(1 - POWER) / log(1 - CHANGED))
"""With so many questions, such a change concerns at least one of them in that share of runs."""

MORE_REPEATS = (8, 16, 32)
"""What a run may ask for if its answers vary."""

SHOWN = 0.5
"""The difference of a question from which reports list it."""


def reply(answer: Answer) -> str:
    """The words of an answer, or its outcome, which no words equal."""
    return answer.groups.get(WORDING) or f"({answer.outcome})"


ERROR = "(error)"
"""Stands for a reply that never came; unlike a refusal, it is not an answer."""


class AnswersMetric(Metric):
    """The metric of the canary, of which gates select scores by model and by checklist."""

    def measurements(
        self, selection: SelectedCounts[CanaryAnswers], estimation: Estimation
    ) -> Iterator[Steadiness]:
        del estimation
        for counts in selection.counts:
            yield Steadiness(counts, selection.run_words(counts))

    @property
    def declared_range(self) -> tuple[float, float]:
        return -1.0, 1.0


ANSWERS = AnswersMetric(
    name="answers",
    label="answered alike",
    question="does it still answer as in the baseline?",
    better="lower",
    reading="the share of questions to which all answers of the run are the same",
    unchanged="still answers as in the baseline",
    level=0.025,
    watched=False,
)
"""In a run, how steady a model is; ``regression(answers)``, how its answers differ from a former run's.

That is the share of questions that differ, less the largest share that does by chance.
"""


@dataclass(frozen=True, slots=True)
class CanaryAnswers:
    """What one model answered: for each question, by id, the words or the outcome of each reply."""

    model: str
    checklist: str
    replies: Mapping[str, tuple[str, ...]]

    @property
    def benchmark(self) -> str:
        return "canary"

    @property
    def comparison_key(self) -> Hashable:
        return self.checklist

    @property
    def vocabulary(self) -> Mapping[str, AbstractSet[str]]:
        return {"model": {self.model}, "checklist": {self.checklist}}

    @property
    def counts(self) -> Mapping[str, Counter[str]]:
        """How often each answer was given, for questions with enough of them; refusing is an answer, too."""
        answers = {
            id_: [reply for reply in replies if reply != ERROR] for id_, replies in self.replies.items()
        }
        return {id_: Counter(replies) for id_, replies in answers.items() if len(replies) >= FEWEST}

    @property
    def one_sided(self) -> str:
        """Why its answers could not show that the model has changed; empty if they could."""
        answers = sum(self.counts.values(), Counter[str]())
        for answer, count in answers.most_common(1):
            if count > ONE_SIDED * answers.total():
                return f'{count:,} of {answers.total():,} answers are "{answer}": a change would not show'
        return ""

    def unsteady(self, repeats: int) -> Weakness | None:
        """Why a later run with so many repeats would often miss a change; None if it would not."""
        questions = [np.array(list(answers.values())) for answers in self.counts.values()]
        return weakness(questions, np.full(len(questions), repeats))


class Weakness(NamedTuple):
    """Why a run would often miss a change: its chance to notice one, the cause, and what raises it."""

    chance: float
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cause} ({self.remedy})"


def weakness(questions: Sequence[IntArray], asked: IntArray) -> Weakness | None:
    """Why a run would often miss a change; None if it would not.

    ``questions`` are the counts of the answers in the baseline, ``asked`` the numbers of answers in the run.
    """

    def noticed(repeats: IntArray | int) -> float:
        return power(questions, repeats, CHANGED, ANSWERS.level) if questions else 0.0

    chance = noticed(asked)
    if chance >= POWER:
        return None
    aim = POWER if chance >= NOTICED else NOTICED
    enough = (repeats for repeats in MORE_REPEATS if repeats > asked.max() and noticed(repeats) >= aim)
    reason, remedy = "answers vary too much", "lower the temperature"
    if len(questions) < ENOUGH_QUESTIONS:
        reason, remedy = "the questions are too few", f"ask at least {ENOUGH_QUESTIONS} questions"
    elif repeats := next(enough, None):
        remedy = f"ask with --factorfair-samples=repeats={repeats}"
    elif max(counts.sum() for counts in questions) < BASELINE_REPEATS:
        remedy = f"make the baseline again: without --factorfair-samples, it has {BASELINE_REPEATS} repeats"
    seen = f"a change in {CHANGED:.0%} of the questions is seen in about {100 * chance:.0f} of 100 runs"
    return Weakness(chance, f"{reason}: {seen}", remedy)


class Steadiness(Measurement):
    """The share of questions that a model answered alike each time."""

    def __init__(self, counts: CanaryAnswers, words: tuple[str, ...] = ()) -> None:
        self.metric, self.model, self.words = ANSWERS, counts.model, words
        self.counts = counts

    @property
    def estimate(self) -> Estimate:
        counts = self.counts.counts
        if not counts:
            return Estimate(None, None, None, 0, "no question was answered")
        alike = sum(len(answers) == 1 for answers in counts.values())
        return Estimate(alike / len(counts), None, None, len(counts))

    @property
    def cells(self) -> tuple[Cell, ...]:
        outcomes = Counter(reply for replies in self.counts.replies.values() for reply in replies)
        refused, unparsed, errors = (outcomes[outcome] for outcome in ("(refused)", "(unparsed)", ERROR))
        return (Cell("all questions", outcomes.total(), refused, unparsed, errors),)

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self.counts.checklist, PART, None, ALL)

    def sharing_cases(self, case: Case) -> int:
        return int(case.checklist == self.counts.checklist)

    @property
    def plan_note(self) -> str:
        questions = len(self.counts.replies)
        steady = [np.array([BASELINE_REPEATS])] * questions
        if (weak := weakness(steady, np.full(questions, REPEATS))) is not None:
            return f"regression(answers): {weak}"
        return (
            "regression(answers) fails at most 3 of 100 models that are the same, and at least 90 with "
            "another first choice in a tenth of the questions, if they take it at least 9 times in 10"
        )

    @property
    def matched_words(self) -> frozenset[str]:
        return frozenset({self.model, self.counts.checklist})

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.counts.comparison_key)})

    def change_from(self, baseline: BaselineCounts) -> Measurement | None:  # type: ignore[override]  # a test
        former = baseline.like(self.counts)
        return None if former is None else Difference(self, former, baseline.date)


class Difference(Steadiness):
    """The test whether a model answers differently than in a former run, of ``date``."""

    def __init__(self, run: Steadiness, former: CanaryAnswers, date: str) -> None:
        super().__init__(run.counts, run.words)
        self._former, self._date = former, date

    @cached_property
    def _compared(self) -> Mapping[str, tuple[IntArray, IntArray]]:
        """How often each answer was given, then and now, to the questions with answers in both runs."""
        former, compared = self._former.counts, {}
        for id_, now in self.counts.counts.items():
            if (before := former.get(id_)) is not None:
                answers = (before | now).keys()
                compared[id_] = (
                    np.array([before[answer] for answer in answers]),
                    np.array([now[answer] for answer in answers]),
                )
        return compared

    @cached_property
    def differing(self) -> float:
        """In how many questions the answers differ."""
        differences = [difference(before, now) for before, now in self._compared.values()]
        return max(round(float(sum(differences)), DECIMALS), 0.0)

    @cached_property
    def limit(self) -> float:
        """In how many they differ by chance at most."""
        return most_by_chance(tuple(self._compared.values()), self.metric.level)

    @cached_property
    def weakness(self) -> Weakness | None:
        """Why the test would often miss a change; None if it would not."""
        before, now = zip(*self._compared.values(), strict=True) if self._compared else ((), ())
        return weakness(before, np.array([counts.sum() for counts in now]))

    @property
    def estimate(self) -> Estimate:
        questions, compared = len(self.counts.replies), len(self._compared)
        if questions - compared > ALLOWED * questions:
            reason = f"{plural(questions - compared, 'question')} of {questions} got no answers in both runs"
            return Estimate(None, None, None, compared, reason)
        if one_sided := self._former.one_sided:
            return Estimate(None, None, None, compared, f"on {self._date}, {one_sided}")
        blind = self.weakness.cause if self.weakness and self.weakness.chance < NOTICED else ""
        return Estimate((self.differing - self.limit) / compared, None, None, compared, blind)

    @cached_property
    def result(self) -> str:
        lacking = len(self.counts.replies) - len(self._compared)
        questions = plural(len(self._compared), "question")
        clauses = (
            f"answers differ from {self._date} in {self.differing:g} of {questions}",
            f"by chance at most {self.limit:g}",
            f"{lacking} got no answers in both runs" if lacking else "",
            str(self.weakness or ""),
        )
        return "; ".join(filter(None, clauses))

    @property
    def driver(self) -> str:
        return self.result

    @property
    def remedy(self) -> str:
        return self.weakness.remedy if self.weakness else ""

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(self._components())

    def _components(self) -> Iterator[Component]:
        former, now = self._former.counts, self.counts.counts
        for id_, counts in self._compared.items():
            if (share := float(difference(*counts))) >= SHOWN:
                old, new = (answers[id_].most_common(1)[0][0] for answers in (former, now))
                group = CaseGroup(self.counts.checklist, (id_,), id_)
                yield Component(id_.replace("_", " "), share, f'"{old}" before, "{new}" now', group, new, 0.0)
