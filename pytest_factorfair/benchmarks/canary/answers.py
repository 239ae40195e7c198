"""The answers to a canary, and how those of two runs differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

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
from pytest_factorfair.domain import ALL, Case, CaseGroup, plural
from pytest_factorfair.statistics.differing import (
    chance_of_difference,
    differ,
    most_by_chance,
)
from pytest_factorfair.statistics.estimate import Estimate

ONE_SIDED = 0.8
"""The largest share of one answer. A model above it hardly reads the questions: a change would not show."""

ERROR = "error"
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


@dataclass(frozen=True)
class CanaryAnswers:
    """What one model answered: for each question, by id, the letter or the outcome of each reply."""

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

    @cached_property
    def counts(self) -> Mapping[str, Counter[str]]:
        """How often each answer was given, for questions without an error; refusing is an answer, too."""
        return {id_: Counter(replies) for id_, replies in self.replies.items() if ERROR not in replies}

    @property
    def one_sided(self) -> str:
        """Why its answers could not show that the model has changed; empty if they could."""
        answers = sum(self.counts.values(), Counter[str]())
        for answer, count in answers.most_common(1):
            if count > ONE_SIDED * answers.total():
                return f"{count:,} of {answers.total():,} answers are {answer}: a change would not show"
        return ""


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
        refused, unparsed, errors = (outcomes[outcome] for outcome in ("refused", "unparsed", ERROR))
        return (Cell("all questions", outcomes.total(), refused, unparsed, errors),)

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self.counts.checklist, PART, None, ALL)

    def asks(self, case: Case) -> int:
        return int(case.checklist == self.counts.checklist)

    @property
    def foreseen(self) -> str:
        return (
            "regression(answers) fails at most 3 of 100 models that are the same, and at least 90 with other "
            "answers to a tenth of the questions, unless they draw them"
        )

    @property
    def held(self) -> frozenset[str]:
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
    def _compared(self) -> Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]:
        """How often each answer was given, then and now, to the questions with answers in both runs."""
        compared = {}
        for id_, now in self.counts.counts.items():
            if (before := self._former.counts.get(id_)) is not None:
                answers = (before | now).keys()
                compared[id_] = (
                    tuple(before[answer] for answer in answers),
                    tuple(now[answer] for answer in answers),
                )
        return compared

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """The questions to which the run gave none of the former answers."""
        return tuple(id_ for id_, (before, now) in self._compared.items() if differ(before, now))

    @cached_property
    def limit(self) -> int:
        """The most questions that differ by chance."""
        chances = [
            chance_of_difference(tuple(map(sum, zip(before, now, strict=True))), sum(now))
            for before, now in self._compared.values()
        ]
        return most_by_chance(chances, self.metric.level)

    @property
    def estimate(self) -> Estimate:
        questions, compared = len(self.counts.replies), len(self._compared)
        if questions - compared > ALLOWED * questions:
            reason = f"{plural(questions - compared, 'question')} of {questions} got no answer in both runs"
            return Estimate(None, None, None, compared, reason)
        if one_sided := self._former.one_sided:
            return Estimate(None, None, None, compared, f"on {self._date}, {one_sided}")
        return Estimate((len(self.differing) - self.limit) / compared, None, None, compared)

    @property
    def result(self) -> str:
        lacking = len(self.counts.replies) - len(self._compared)
        return (
            f"answers differ from {self._date} in {len(self.differing)} of "
            f"{plural(len(self._compared), 'question')}; by chance at most {self.limit}"
            f"{f'; {lacking} got no answer in both runs' if lacking else ''}"
        )

    @property
    def driver(self) -> str:
        return self.result

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(self._components())

    def _components(self) -> Iterator[Component]:
        for id_ in self.differing:
            before, now = (
                counts[id_].most_common(1)[0][0] for counts in (self._former.counts, self.counts.counts)
            )
            group = CaseGroup(self.counts.checklist, (id_,), id_)
            yield Component(id_.replace("-", " "), 1.0, f"{before} before, {now} now", group, now, 0.0)
