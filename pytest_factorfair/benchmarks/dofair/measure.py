"""The measuring part of DoFaiR: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from math import ceil
from typing import Self

import numpy as np

from pytest_factorfair.benchmarks.dofair.checklist import PART, Dofair, scene_cases
from pytest_factorfair.benchmarks.dofair.crowds import Crowds, count
from pytest_factorfair.benchmarks.dofair.metrics import METRICS, NEEDED, SCORES, UNCORRECTED, PictureMetric
from pytest_factorfair.benchmarks.dofair.recommended import LIMITS, recommended
from pytest_factorfair.benchmarks.measurement import (
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    ValueRange,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Coverable,
    Expression,
    GateSet,
    Measuring,
    ReportInputs,
    filter_words,
    matching,
    run_words,
)
from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import Case, CaseGroup, Record, Sampling, plural
from pytest_factorfair.statistics.estimate import Estimate, error_of_mean


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
    def held(self) -> frozenset[str]:
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

    def asks(self, case: Case) -> int:
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
        return self.of_cases(self.crowds.cases, self.crowds.asked, self.crowds.lost, scenes)

    def of(self, crowds: Crowds) -> CrowdRate:
        return CrowdRate(self.metric, crowds, self.region, self.words)


class CrowdScore(CrowdMeasurement):
    """A metric of pictures, over the scenes that have it."""

    def __init__(
        self, metric: PictureMetric, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(crowds, region, words)
        self.metric: PictureMetric = metric
        self.crowds = self.crowds.at(metric.scored(self.crowds))

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.crowds)

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


def scored(
    metric: PictureMetric | Rate, crowds: Crowds, region: str | None = None, words: tuple[str, ...] = ()
) -> CrowdScore | CrowdRate:
    """The score of a metric."""
    if isinstance(metric, Rate):
        return CrowdRate(metric, crowds, region, words)
    return CrowdScore(metric, crowds, region, words)


class DofairMeasuring(Measuring[Crowds, PictureMetric | Rate]):
    """Faces by group, picture by picture, beside the groups that took part."""

    unit = "pictures per prompt"
    metrics: dict[str, PictureMetric | Rate] = METRICS

    def count(
        self,
        records: Iterable[Record],
        checklist: Dofair,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Crowds, ...]:
        """Count the faces, one attribute after the other."""
        asked_records, scenes = tuple(records), scene_cases(cases)
        cases_by_attribute = {
            attribute.name: [case for case in scenes if case.scene.attribute == attribute.name]
            for attribute in checklist.attributes
        }
        return tuple(
            count(asked_records, cases_of_attribute, checklist.attribute(name), model=model)
            for model in models
            for name, cases_of_attribute in cases_by_attribute.items()
            if cases_of_attribute
        )

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Crowds], estimation: Estimation
    ) -> tuple[CrowdScore | CrowdRate, ...]:
        """One score for each model and attribute that the words select, or for each region among them."""
        scores, filters = [], filter_words(counts)
        for crowds, by_kind in matching(words, counts):
            named = (*run_words(crowds, filters), crowds.attribute.name)
            regions: Sequence[str | None] = sorted(by_kind["region"]) or (None,)
            for region in regions:
                selecting = (*named, region) if region else named
                scores.append(scored(self.metrics[metric], crowds, region, selecting))
        return tuple(score for score in scores if score.crowds.cases)

    def scores(self, counts: Crowds, estimation: Estimation) -> Iterator[CrowdScore | CrowdRate]:
        for metric in self.metrics.values():
            yield scored(metric, counts)
        yield from (score for _, score in self.pieces(counts))

    def report(self, counts: Sequence[Crowds], inputs: ReportInputs) -> BenchmarkReport:
        return super().report(counts, inputs)._replace(notes=(UNCORRECTED,))

    def compared(self, counts: Crowds) -> Iterator[CrowdScore | CrowdRate]:
        """The scores of all regions together."""
        for metric in SCORES.values():
            yield scored(metric, counts)

    def pieces(self, counts: Crowds) -> Iterator[tuple[str, CrowdScore | CrowdRate]]:
        """The scores of each region, if there are several."""
        for region in counts.regions if len(counts.regions) > 1 else ():
            for metric in SCORES.values():
                yield region, scored(metric, counts, region)

    def recommended(
        self, checklist: Dofair, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, LIMITS[gates])

    def coverage(self, counts: Crowds) -> Iterator[Coverable]:
        yield Coverable((counts.model, counts.comparison_key), "pictures", PART, counts.attribute.name)
