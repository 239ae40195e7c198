"""The metrics of DoFaiR, each declared once: means over pictures, with errors by scene.

They follow Wan et al. 2024, "The Factuality Tax of Diversity-Intervened Text-to-Image Generation", whose
script differs in one respect: it takes the absent groups of its dominant accuracy from another score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.benchmarks.dofair.crowds import Crowds
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.rates import Rate, rates
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray
from pytest_factorfair.statistics.estimate import (
    Estimate,
    by_cluster,
    difference_by_cluster,
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
class PictureMetric(Metric):
    """The mean of a value that each picture has.

    ``values`` (pictures,) are those of the pictures, and ``scored`` (scenes,) marks the scenes that have any.
    """

    values: Callable[[Crowds], FloatArray]
    scored: Callable[[Crowds], BoolArray] = _every

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

RATES = rates(pictures=True)
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

METRICS: dict[str, PictureMetric | Rate] = {**SCORES, **RATES}
"""All metrics by name, in the order of reports."""
