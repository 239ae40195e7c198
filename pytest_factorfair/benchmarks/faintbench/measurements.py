"""The interface of metrics of prompts, and their measurements: each score with its prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from math import ceil
from operator import attrgetter
from typing import Literal, Self

import numpy as np

from pytest_factorfair.benchmarks.faintbench.checklist import Part, prompt_cases
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import ANSWERS, Gallery, Selection, with_lost
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    PieceName,
    ValueRange,
)
from pytest_factorfair.benchmarks.measuring import SelectedCounts
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import ALL, Case, CaseGroup, Estimator, Score, plural, titled
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.estimate import Estimate

LEAST = 50
"""Pictures of each prompt from which the bounds of its shares can be trusted."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfPrompts(Metric):
    """A metric of prompts, which gates judge for each gallery."""

    def score(
        self,
        gallery: Gallery,
        selection: Selection,
        words: tuple[str, ...] = (),
        estimation: Estimation = CORRECTED,
    ) -> PromptsMeasurement:
        """Its score over the selected prompts of a gallery."""
        raise NotImplementedError

    def measurements(
        self, selection: SelectedCounts[Gallery], estimation: Estimation
    ) -> Iterator[PromptsMeasurement]:
        """One score for every gallery with prompts that the words select."""
        prompts = Selection({kind: selection.by_kind[kind] for kind in ANSWERS})
        for gallery in selection.counts:
            own_words = (gallery.model, gallery.checklist.name)
            further = (word for word in selection.words if word not in own_words)
            score = self.score(gallery, prompts, (*selection.run_words(gallery), *further), estimation)
            if score.prompts:
                yield score


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LostPictures(Rate, OfPrompts):
    """A rate of lost pictures."""

    def score(
        self,
        gallery: Gallery,
        selection: Selection,
        words: tuple[str, ...] = (),
        estimation: Estimation = CORRECTED,
    ) -> PromptsRate:
        return PromptsRate(self, gallery, selection, words, estimation)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PromptMetric(OfPrompts):
    """A metric of the prompts of one ``part``.

    ``of_pairs`` marks a metric of pairs of prompts.
    """

    part: Part
    of_pairs: bool = False

    def score(
        self,
        gallery: Gallery,
        selection: Selection,
        words: tuple[str, ...] = (),
        estimation: Estimation = CORRECTED,
    ) -> PromptsScore:
        return PromptsScore(self, gallery, selection, words, estimation)

    def estimate(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        """The metric's value over a selection, with its uncertainty."""
        raise NotImplementedError

    def change(self, new: Gallery, old: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        """The change from old to new, over galleries of the same cases."""
        raise NotImplementedError

    def error(
        self, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
    ) -> float | None:
        """The standard error at a threshold, with n pictures of each prompt; None where none is foreseen."""
        raise NotImplementedError

    def floor(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> float | None:
        """The lowest value that any model can have."""
        return 0.0

    def components(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Iterator[Component]:
        """The value of each prompt."""
        return iter(())

    def pictures(self, gallery: Gallery, selection: Selection, *, compared: bool) -> int:
        """How many pictures bounds need, or bounds of a difference if it is ``compared``."""
        return LEAST * self.prompts(gallery, selection)

    def prompts(self, gallery: Gallery, selection: Selection) -> int:
        """The number of prompts that it covers."""
        return int(selection.chosen(gallery, self.part).sum())


class PromptsMeasurement(Measurement):
    """A score over selected prompts of a gallery, counted as one cell."""

    def __init__(
        self,
        metric: Metric,
        counts: Gallery,
        selection: Selection,
        words: tuple[str, ...] = (),
        estimation: Estimation = CORRECTED,
    ) -> None:
        self.metric = metric
        self.words = words
        self.gallery = counts
        self.model = counts.model
        self.selection = selection
        self._estimation = estimation

    @property
    def part(self) -> Literal["", Part]:
        """The part of the prompts; empty for both parts."""
        return ""

    @property
    def prompts(self) -> int:
        """The number of prompts that it covers."""
        return int(self.selection.chosen(self.gallery, self.part).sum())

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all prompts, then a cell for each prompt without a picture that could be read.

        The prompts are those selected, and those that the estimator counts among these.
        """
        counted = self.selection.times(self.gallery, self.part, self._estimation.estimator) > 0
        selected = self.selection.chosen(self.gallery, self.part) | counted
        outcome_counts = self.gallery.outcome_counts(self.selection.pooled(self.gallery))
        shown = outcome_counts[:, 0] > outcome_counts[:, 1:].sum(axis=1)
        return (
            Cell(
                f"its {plural(int(selected.sum()), 'prompt')}", *outcome_counts[selected].sum(axis=0).tolist()
            ),
            *(
                Cell(self.gallery.cases[prompt].id, *outcome_counts[prompt].tolist())
                for prompt in np.flatnonzero(selected & ~shown)
            ),
        )

    @property
    def total(self) -> Cell:
        return self.cells[0]

    @property
    def matched_words(self) -> frozenset[str]:
        selected = self.selection.chosen(self.gallery, self.part)
        vocabularies = [
            case.words.values() for case, holds in zip(self.gallery.cases, selected, strict=True) if holds
        ]
        names = frozenset({self.model, self.gallery.checklist.name})
        return names.union(*(words for vocabulary in vocabularies for words in vocabulary))

    @property
    def score_key(self) -> ScoreKey:
        """The key of its row in a report: for one attribute, or for all."""
        names = self.selection.attributes
        attribute = next(iter(names)) if len(names) == 1 else ALL
        return ScoreKey(self.gallery.checklist.name, self.part, None, attribute)

    def sharing_cases(self, case: Case) -> int:
        if case.checklist != self.gallery.checklist.name:
            return 0
        return sum(
            self.part in ("", prompt.part) and self.selection.holds(prompt) for prompt in prompt_cases([case])
        )

    def earlier(self, baseline: BaselineCounts) -> Self | None:
        """The baseline's score; None if the former run did not ask all of its prompts."""
        old = baseline.like(self.gallery)
        if old is None or not asked_alike(self.gallery, old, self.selection, self.part):
            return None
        return type(self)(self.metric, old, self.selection, self.words, self._estimation)


class PromptsRate(RateScore, PromptsMeasurement):
    """A rate of lost pictures."""

    metric: Rate

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each prompt."""
        outcome_counts = self.gallery.outcome_counts(self.selection.pooled(self.gallery))
        selected = np.flatnonzero(self.selection.chosen(self.gallery, self.part))
        cases = [(self.gallery.cases[prompt], outcome_counts[prompt].tolist()) for prompt in selected]
        return [
            self.metric.topic(case.title, CaseGroup.of(case), Cell(case.id, *outcomes))
            for case, outcomes in cases
        ]


class PromptsScore(PromptsMeasurement):
    """A metric over a part of a gallery."""

    metric: PromptMetric

    @property
    def part(self) -> Literal["", Part]:
        return self.metric.part

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.gallery, self.selection, self._estimation.estimator)

    def pieces(self) -> Iterator[tuple[PieceName, Measurement]]:
        """The scores of each category of prompts, of one of the whole model."""
        if self.metric.better != "neither" and not self.selection.words:
            for category in sorted(self.gallery.vocabulary["category"]):
                selection = Selection({"category": frozenset({category})})
                yield PieceName(category, titled(category)), self.metric.score(self.gallery, selection)

    def needed_at(self, alpha: float, *, compared: bool = False) -> int:
        return self.metric.pictures(self.gallery, self.selection, compared=compared)

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        return ceil(self.needed_at(alpha, compared=compared) / max(self.prompts, 1))

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        """The range if every lost picture shows the group that lowers, or raises, the score most.

        None if a prompt has no readable picture: the value leaves this prompt out, its extremes do not.
        """
        if self.metric.of_pairs or len(self.cells) > 1:
            return None
        estimator: Estimator = self._estimation.estimator
        if estimator == "corrected":  # lost pictures move its bounds as far as its plug-in value
            estimator = "plugin"
        low, value, high = (
            self.metric.estimate(gallery, self.selection, estimator).plugin
            for gallery in (
                with_lost(self.gallery, estimator, worst=True),
                self.gallery,
                with_lost(self.gallery, estimator, worst=False),
            )
        )
        if value is None or low is None or high is None:
            return None
        # Counts in the real shares match them better than with any picture more.
        return ValueRange(value, low, max(value, high))

    @property
    def components(self) -> Sequence[Component]:
        asked, lost = self.gallery.picture_outcomes.asked, self.gallery.picture_outcomes.lost
        share = {
            CaseGroup.of(case): float(missing / total) if total else 0.0
            for case, missing, total in zip(self.gallery.cases, lost, asked, strict=True)
        }
        components = self.metric.components(self.gallery, self.selection, self._estimation.estimator)
        return tuple(topic._replace(lost=share[topic.cases]) for topic in components)

    @property
    def possible_range(self) -> tuple[float | None, float | None]:
        return self.metric.floor(self.gallery, self.selection, self._estimation.estimator), 1.0

    def row(self) -> Score:
        """The row of its level, which is the context: a kind of subjects or a category."""
        return replace(super().row(), context=self.selection.level)

    def minus(self, other: PromptsScore) -> Estimate:
        estimator = self._estimation.estimator
        return self.metric.change(self.gallery, other.gallery, self.selection, estimator)

    def churn(self, other: PromptsScore) -> float:
        """The share of groups shown that differ from the other picture or have no counterpart."""
        repeated = repetitions(self.gallery, other.gallery)
        selected = self.selection.chosen(self.gallery, self.metric.part)
        shown, alike = sum(
            repeated[name][:, selected].sum(axis=1) for name in self.selection.pooled(self.gallery)
        )
        return float(1 - alike / shown) if shown else 0.0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        return self.metric.error(threshold, self.gallery, self.selection, n, regression=regression)


def asked_alike(new: Gallery, old: Gallery, selection: Selection, part: str) -> bool:
    """Whether the former run asked all prompts of a selection, if there are any."""
    selected = selection.chosen(new, part)
    return bool(selected.any() and (old.picture_outcomes.asked[selected] > 0).all())


Repeated = Mapping[str, IntArray]

Groups = tuple[Mapping[str, str], ...]


@lru_cache(maxsize=1)  # the scores of two galleries share them
def repetitions(new: Gallery, old: Gallery) -> Repeated:
    """Count the pictures of each prompt that show a group, and those that repeat it, by attribute.

    The arrays have the shape (2, cases). A picture repeats the group that the former picture of the same
    query shows.
    """
    indices = {case.id: index for index, case in enumerate(new.cases)}
    before = dict(_pictures(old, indices))
    repeated = {
        attribute.name: np.zeros((2, len(indices)), np.int64) for attribute in new.checklist.attributes
    }
    for (case, query), people in _pictures(new, indices):
        for name, counts in repeated.items():
            shown = _shown(people, name)
            if any(shown):
                alike = shown == _shown(before.get((case, query), ()), name)
                counts[:, indices[case]] += (1, alike)
    return repeated


def _pictures(counts: Gallery, indices: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Groups]]:
    """The groups of the people of each picture of a gallery, by prompt and query."""
    for record in counts.records:
        if (case := record.case.case) in indices:
            for query, faces in groupby(record.answers, key=attrgetter("query")):
                yield (case, query), tuple(face.groups for face in faces)


def _shown(people: Groups, attribute: str) -> tuple[str | None, ...]:
    return tuple(groups.get(attribute) for groups in people)
