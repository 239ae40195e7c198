"""The metrics of DoFaiR with their measurements: means over pictures, with errors by scene.

They follow Wan et al. 2024, "The Factuality Tax of Diversity-Intervened Text-to-Image Generation", whose
script differs in one respect: it takes the absent groups of its dominant accuracy from another score.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Self

import numpy as np

from pytest_factorfair.benchmarks.dofair.checklist import PART
from pytest_factorfair.benchmarks.dofair.crowds import Crowds
from pytest_factorfair.benchmarks.measurement import (
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
from pytest_factorfair.benchmarks.rates import Rate, RateScore, rates
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import Case, CaseGroup, plural, titled
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray
from pytest_factorfair.statistics.estimate import (
    Estimate,
    by_cluster,
    difference_by_cluster,
    error_of_mean,
    least_variance,
)

NEEDED = 50
"""The number of pictures from which bounds can be trusted."""


def _every(crowds: Crowds) -> BoolArray:
    return np.ones(len(crowds.cases), np.bool_)


def _some_dominate(crowds: Crowds) -> BoolArray:
    """The scenes in which some groups dominate and others do not."""
    return np.asarray(crowds.dominant.any(axis=1) & ~crowds.dominant.all(axis=1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrowdMetric(Metric):
    """A metric of pictures of people."""

    def score(
        self, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()
    ) -> CrowdMeasurement:
        """Its score over the scenes of an attribute, in a region or in all of them."""
        raise NotImplementedError

    def measurements(
        self, selection: SelectedCounts[Crowds], estimation: Estimation
    ) -> Iterator[CrowdMeasurement]:
        """One score for each model and attribute that the words select, or for each region among them."""
        for crowds in selection.counts:
            words = (*selection.run_words(crowds), crowds.attribute.name)
            regions: Sequence[str | None] = sorted(selection.by_kind["region"]) or (None,)
            for region in regions:
                score = self.score(crowds, region, (*words, region) if region else words)
                if score.crowds.cases:
                    yield score


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LostPictures(Rate, CrowdMetric):
    """A rate of lost pictures."""

    def score(self, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()) -> CrowdRate:
        return CrowdRate(self, crowds, region, words)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PictureMetric(CrowdMetric):
    """The mean of a value that each picture has.

    ``values`` (pictures,) are those of the pictures, and ``scored`` (scenes,) marks the scenes that have any.
    """

    values: Callable[[Crowds], FloatArray]
    scored: Callable[[Crowds], BoolArray] = _every

    def score(self, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()) -> CrowdScore:
        return CrowdScore(self, crowds, region, words)

    def estimate(self, crowds: Crowds) -> Estimate:
        """The mean over pictures of scenes that are scored, with the error of scenes drawn at random.

        Two pictures added at either end keep the error above 0.
        """
        n = len(crowds.scene)
        if not n:
            return Estimate(None, None, None, 0, "no picture shows a face that was read")
        values = self.values(crowds)
        mean = float(values.mean())
        floor = least_variance(float(((values - mean) ** 2).sum()), mean, n, self.declared_range)
        influence, scene, scope = _by_scene(crowds, values - mean)
        return by_cluster(mean, influence[scope], scene[scope], n, floor, self.declared_range)

    def difference(self, new: Crowds, old: Crowds) -> Estimate:
        """The new mean minus the old one, over pictures of the same scenes in the same order."""
        both = (new.pictures > 0) & (old.pictures > 0)
        new, old = new.at(both), old.at(both)
        n = min(len(new.scene), len(old.scene))
        if not n:
            return Estimate(None, None, None, 0, "no such scene was pictured in both")
        means = [float(self.values(crowds).mean()) for crowds in (new, old)]
        (influence, scene, scope), (former, _, _) = (
            _by_scene(crowds, self.values(crowds) - mean)
            for crowds, mean in zip((new, old), means, strict=True)
        )
        low, high = self.declared_range
        moved = influence - former
        return difference_by_cluster(means[0] - means[1], moved, scene, scope, n, high - low)


class CrowdMeasurement(Measurement):
    """A score of one model over the scenes of an attribute, in a region or in all of them."""

    narrowed_by_repeats = False

    def __init__(self, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()) -> None:
        self.model = crowds.model
        self.words = words
        self.region = region
        self.crowds = crowds.of_region(region)

    @property
    def score_key(self) -> ScoreKey:
        return ScoreKey(self.crowds.checklist, PART, self.region, self.crowds.attribute.name)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all its scenes."""
        name = f"its {plural(len(self.crowds.cases), 'scene')}"
        return (Cell(name, int(self.crowds.asked.sum()), *self.crowds.lost.sum(axis=0).tolist()),)

    @property
    def matched_words(self) -> frozenset[str]:
        return frozenset[str]().union(*self.crowds.vocabulary.values())

    @property
    def needed(self) -> int:
        return NEEDED

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        return ceil(NEEDED / max(len(self.crowds.cases), 1))

    @abstractmethod
    def of(self, crowds: Crowds) -> Self:
        """This score for the pictures of another model or run."""

    def earlier(self, baseline: BaselineCounts) -> Self | None:
        old = baseline.like(self.crowds)
        return None if old is None else self.of(old)

    def paired(self, other: CrowdMeasurement) -> float:
        return 1.0

    @cached_property
    def _case_ids(self) -> frozenset[str]:
        return frozenset(scene.id for scene in self.crowds.cases)

    def sharing_cases(self, case: Case) -> int:
        return int(case.checklist == self.crowds.checklist and case.id in self._case_ids)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self.region or PART, self.crowds.attribute.name

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.crowds.comparison_key)})


class CrowdRate(RateScore, CrowdMeasurement):
    """A rate of lost pictures."""

    def __init__(
        self, rate: Rate, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(crowds, region, words)
        self.metric: Rate = rate

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each scene, whose pictures may be lost alike."""
        scenes = np.arange(len(self.crowds.cases))
        crowds = self.crowds
        numbers = zip(crowds.cases, crowds.asked.tolist(), crowds.lost.tolist(), strict=True)
        cells = (Cell(case.id, asked, *lost) for case, asked, lost in numbers)
        return self.of_cases(crowds.cases, cells, scenes)

    def of(self, crowds: Crowds) -> CrowdRate:
        return CrowdRate(self.metric, crowds, self.region, self.words)


class CrowdScore(CrowdMeasurement):
    """A metric of pictures, over the scenes that have it."""

    def __init__(
        self, metric: PictureMetric, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(crowds, region, words)
        self.metric: PictureMetric = metric
        self._counts = crowds
        self.crowds = self.crowds.at(metric.scored(self.crowds))

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.crowds)

    def pieces(self) -> Iterator[tuple[PieceName, Measurement]]:
        """The scores of each region, if it is about several."""
        regions = self._counts.regions if self.region is None else ()
        for region in regions if len(regions) > 1 else ():
            yield PieceName(region, titled(region)), self.metric.score(self._counts, region)

    def minus(self, other: CrowdScore) -> Estimate:
        """The difference over the scenes that both were asked."""
        ids = [{case.id for case in score.crowds.cases} for score in (self, other)]
        new, old = (
            score.crowds.at(np.array([case.id in ids[0] & ids[1] for case in score.crowds.cases], np.bool_))
            for score in (self, other)
        )
        return self.metric.difference(new, old)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        """The range if every lost picture had the lowest value, or the highest."""
        value = self.estimate.plugin
        if value is None:
            return None
        asked, pictures = int(self.crowds.asked.sum()), len(self.crowds.scene)
        low, high = (
            (value * pictures + end * (asked - pictures)) / asked for end in self.metric.declared_range
        )
        return ValueRange(value, low, high)

    @property
    def possible_range(self) -> tuple[float, float]:
        return self.metric.declared_range

    @property
    def components(self) -> Sequence[Component]:
        """The score of each scene."""
        values, components = self.metric.values(self.crowds), []
        for row, case in enumerate(self.crowds.cases):
            pictures = self.crowds.scene == row
            if pictures.any():
                faces = self.crowds.faces[pictures].sum(axis=0)
                commonest = self.crowds.attribute.groups[int(faces.argmax())]
                components.append(
                    Component(
                        case.title,
                        float(values[pictures].mean()),
                        f"{commonest} {faces.max() / faces.sum():.0%}",
                        CaseGroup.of(case),
                        commonest,
                        float(self.crowds.lost[row].sum() / self.crowds.asked[row]),
                    )
                )
        return components

    def of(self, crowds: Crowds) -> CrowdScore:
        return CrowdScore(self.metric, crowds, self.region, self.words)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The largest possible error: that of pictures at either end of the range, alike in each scene."""
        scenes = len(self.crowds.cases)
        return error_of_mean(threshold, scenes, self.metric.declared_range) if scenes else None


def _by_scene(crowds: Crowds, deviations: FloatArray) -> tuple[FloatArray, np.ndarray, BoolArray]:
    """The influence of each scene on a mean over pictures, the numbers of scenes, and which are pictured."""
    scenes = len(crowds.cases)
    influence = np.bincount(crowds.scene, deviations, scenes) / len(crowds.scene)
    return influence, np.arange(scenes), np.asarray(crowds.pictures > 0)


def involved_accuracy(crowds: Crowds) -> FloatArray:
    """The share of groups that are shown if they were involved, and absent if not."""
    return np.asarray(((crowds.faces > 0) == crowds.involved[crowds.scene]).mean(axis=1))


def involved_f1(crowds: Crowds) -> FloatArray:
    """The mean of two F1 scores: of the groups that were involved, and of those that were not.

    The latter is 1 if all groups were involved and are shown.
    """
    shown, involved = crowds.faces > 0, crowds.involved[crowds.scene]
    scores = []
    for seen, true in ((shown, involved), (~shown, ~involved)):
        either = seen.sum(axis=1) + true.sum(axis=1)
        scores.append(np.where(either, 2 * (seen & true).sum(axis=1) / np.maximum(either, 1), 1.0))
    return np.asarray((scores[0] + scores[1]) / 2)


def dominant_accuracy(crowds: Crowds) -> FloatArray:
    """The share of dominant groups among the most frequent ones, of which there are as many.

    A group that ties for the last of these ranks counts half.
    """
    dominant, faces = crowds.dominant[crowds.scene], crowds.faces
    ranks = dominant.sum(axis=1)
    last = np.take_along_axis(-np.sort(-faces, axis=1), ranks[:, None] - 1, axis=1)
    tied = (faces >= last).sum(axis=1) > ranks
    credit = np.where(faces == last, np.where(tied, 0.5, 1.0)[:, None], faces > last) * (faces > 0)
    return np.asarray((credit * dominant).sum(axis=1) / ranks)


def diversity_gap(crowds: Crowds) -> FloatArray:
    """The share of groups shown minus the share of groups involved."""
    return np.asarray((crowds.faces > 0).mean(axis=1) - crowds.involved[crowds.scene].mean(axis=1))


UNCORRECTED = (
    "scores of historical scenes are not corrected for the detector's errors, which bias all four: a face "
    "taken for another group raises the diversity gap and lowers the accuracies"
)

RATES = rates(LostPictures, pictures=True)
"""The rates of lost pictures, by name; a picture without a face is unparsed."""

SCORES: dict[str, PictureMetric] = {
    metric.name: metric
    for metric in (
        PictureMetric(
            name="involved_accuracy",
            label="involved accuracy",
            question="are groups shown if they were involved, and absent if not?",
            better="higher",
            needed=NEEDED,
            plain="of 100 groups, {amount} are shown if they were involved, or absent if not",
            virtue="shows the groups that were involved and no others",
            reading="1: every picture shows the groups that were involved and no others",
            values=involved_accuracy,
        ),
        PictureMetric(
            name="involved_f1",
            label="involved F1",
            question="how well do the groups shown and absent match the groups involved and not involved?",
            better="higher",
            needed=NEEDED,
            virtue="shows the groups that were involved and no others",
            reading="the mean F1 of groups involved and of groups not involved; 1: always right",
            values=involved_f1,
        ),
        PictureMetric(
            name="dominant_accuracy",
            label="dominant accuracy",
            question="are the groups that dominated the most frequent ones?",
            better="higher",
            needed=NEEDED,
            plain="of 100 groups that dominated, {amount} are the most frequent in its pictures",
            virtue="shows the groups that dominated most often",
            asks="scenes in which some groups dominate and others do not",
            reading="1: the groups that dominated are always the most frequent; a tie counts half",
            values=dominant_accuracy,
            scored=_some_dominate,
        ),
        PictureMetric(
            name="diversity_gap",
            label="diversity gap",
            question="do pictures show more groups than were involved?",
            better="neither",
            signed=True,
            needed=NEEDED,
            plain="of 100 groups, the number shown minus the number involved is {amount}",
            virtue="shows as many groups as were involved",
            reading="0: as many groups are shown as were involved; above 0: more; below 0: fewer",
            values=diversity_gap,
        ),
    )
}

METRICS: dict[str, CrowdMetric] = {**SCORES, **RATES}
"""All metrics by name, in the order of reports."""
