"""The metrics of FAIntbench, each declared once, with all that is computed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_factorfair.domain import Estimator
from pytest_factorfair.protocols.faintbench import power
from pytest_factorfair.protocols.faintbench.cells import Cells, level
from pytest_factorfair.protocols.faintbench.gallery import Gallery, Selection
from pytest_factorfair.protocols.faintbench.levels import (
    UNASKED,
    Pool,
    eta,
    explicit_pool,
    floor_level,
    implicit_pool,
    pooled,
)
from pytest_factorfair.protocols.measurement import Metric
from pytest_factorfair.statistics.estimate import Estimate

LEAST = 50
"""Pictures of each prompt from which the bounds of its shares can be trusted."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PromptMetric(Metric):
    """A metric of the prompts of one ``part``; ``of_pairs`` is one that only attributes select from."""

    part: Literal["implicit", "explicit"]
    of_pairs: bool = False

    def estimate(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        """Its value over a selection, with its uncertainty."""
        raise NotImplementedError

    def change(self, new: Gallery, old: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        """New less old, over galleries of the same cases."""
        raise NotImplementedError

    def error(
        self, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
    ) -> float | None:
        """The standard error at a threshold, with n pictures of each prompt; None where none is foreseen."""
        raise NotImplementedError

    def floor(self, gallery: Gallery, selection: Selection) -> float | None:
        """The lowest value that any model can have."""
        del gallery, selection
        return 0.0

    def pictures(self, gallery: Gallery, selection: Selection, *, compared: bool) -> int:
        """How many pictures bounds need, or those of a difference if it is ``compared``."""
        del compared
        return LEAST * self.prompts(gallery, selection)

    def prompts(self, gallery: Gallery, selection: Selection) -> int:
        """Over how many prompts it is."""
        return int(selection.chosen(gallery.cases, self.part).sum())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pooled(PromptMetric):
    """A weighted mean of scores of prompts."""

    def pool(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Pool | None:
        """The scores and their weights; None where no prompt is selected."""
        raise NotImplementedError

    def estimate(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        return pooled(self.pool(gallery, selection, estimator))

    def change(self, new: Gallery, old: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        """Prompt by prompt, over those that have a score in both runs.

        The pictures of either are taken to be drawn apart, so that both errors count: pictures that are
        the same in both make the error too large, never too small.
        """
        after, before = (self.pool(each, selection, estimator) for each in (new, old))
        if after is None or before is None:
            return UNASKED
        one, other = after.cells, before.cells
        differences = Cells(
            one.plugin - other.plugin,
            one.corrected - other.corrected,
            np.hypot(one.error, other.error),
            np.minimum(one.n, other.n),
            one.reason,
        )
        return level(differences, after.weights, after.prompts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Implicit(Pooled):
    """How close the groups shown are to their shares in reality."""

    def pool(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Pool | None:
        return implicit_pool(gallery, selection, estimator, self.name)

    def error(
        self, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
    ) -> float | None:
        return power.of_implicit(threshold, gallery, selection, n, regression=regression)

    def floor(self, gallery: Gallery, selection: Selection) -> float | None:
        return floor_level(gallery, selection)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explicit(Pooled):
    """How often a person of the group is shown that the prompt asks for."""

    def pool(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Pool | None:
        return explicit_pool(gallery, selection, estimator, self.name)

    def error(
        self, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
    ) -> float | None:
        return power.of_explicit(threshold, gallery, selection, n, regression=regression)

    def pictures(self, gallery: Gallery, selection: Selection, *, compared: bool) -> int:
        """Bounds of a share hold for any number; differences are taken prompt by prompt."""
        del gallery, selection
        return LEAST if compared else 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Eta(PromptMetric):
    """Whether good and bad words shift the groups alike, over all pairs of prompts."""

    of_pairs: bool = True

    def estimate(self, gallery: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        return eta(gallery, selection, estimator)[0]

    def change(self, new: Gallery, old: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
        return self.estimate(new, selection, estimator).less(self.estimate(old, selection, estimator))

    def error(
        self, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
    ) -> float | None:
        return power.of_eta(threshold, gallery, selection, n, regression=regression)


METRICS: dict[str, PromptMetric] = {
    metric.name: metric
    for metric in (
        Implicit(
            name="implicit",
            label="implicit",
            question="how close are the groups shown to their shares in reality?",
            better="higher",
            part="implicit",
        ),
        Explicit(
            name="explicit",
            label="explicit",
            question="how often is a person shown who belongs to the group that was asked for?",
            better="higher",
            part="explicit",
        ),
        Eta(
            name="eta",
            label="eta",
            question="is the bias the same for good and bad words (0), or reversed (1)?",
            better="neither",
            part="implicit",
        ),
    )
}
"""The metrics by name, in the order of boards and changes."""
