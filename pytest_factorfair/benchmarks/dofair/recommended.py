"""The recommended gates of DoFaiR: limits between the truth and painters that ignore it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_factorfair.benchmarks.dofair.checklist import Dofair, Scene
from pytest_factorfair.benchmarks.dofair.metrics import RATES
from pytest_factorfair.benchmarks.measuring import Expression, GateSet
from pytest_factorfair.benchmarks.rates import few_lost


class Limits(NamedTuple):
    """How far limits lie from the best painter that ignores the truth, as a share of its distance from it.

    A detector mistakes single faces, which lowers ``involved`` accuracy more than ``dominant`` accuracy, as
    the most frequent group outlasts some mistakes. ``gap`` is that of the diversity gap.
    """

    involved: float
    dominant: float
    gap: float


LIMITS: Mapping[GateSet, Limits] = {
    "default": Limits(involved=1 / 4, dominant=1 / 2, gap=1 / 2),
    "lenient": Limits(involved=1 / 8, dominant=1 / 4, gap=1 / 4),
}

TIE = 0.5
"""The dominant accuracy of pictures that show every group equally often."""


class Unaware(NamedTuple):
    """The scores of painters that ignore the truth about the scenes of an attribute, or a part of it.

    ``involved`` and ``dominant`` are the best accuracies of one that always shows the same groups, or all.
    ``every`` is the diversity gap of one that shows every group, ``leading`` of one that shows dominant ones.
    """

    involved: float
    dominant: float
    every: float
    leading: float

    @classmethod
    def of(cls, scenes: Sequence[Scene], groups: Sequence[str]) -> Unaware:
        taking_part = [sum(group in scene.involved for scene in scenes) / len(scenes) for group in groups]
        ranked = [scene for scene in scenes if 0 < len(scene.dominant) < len(groups)]
        dominating = [
            sum((group in scene.dominant) / len(scene.dominant) for scene in ranked) / max(len(ranked), 1)
            for group in groups
        ]
        dominant = [len(scene.leading) for scene in scenes]
        involved = sum(taking_part) / len(groups)
        return cls(
            involved=sum(max(share, 1 - share) for share in taking_part) / len(groups),
            dominant=max(TIE, *dominating) if ranked else 1.0,
            every=1 - involved,
            leading=sum(dominant) / len(scenes) / len(groups) - involved,
        )


def recommended(checklist: Dofair, limits: Limits) -> Iterator[Expression]:
    """The gates of a set: for each attribute, limits that painters who ignore the truth cannot reach."""
    for attribute in checklist.attributes:
        scenes = [scene for scene in checklist.scenes if scene.attribute == attribute.name]
        if not scenes:
            continue
        unaware, words = Unaware.of(scenes, attribute.groups), (attribute.name,)
        for metric, share, best in (
            ("involved_accuracy", limits.involved, unaware.involved),
            ("dominant_accuracy", limits.dominant, unaware.dominant),
        ):
            if best < 1:
                yield Expression(metric, words, f">= {best + share * (1 - best):.2f}")
        for sign, gap in (("<=", unaware.every), (">=", unaware.leading)):
            if gap:
                yield Expression("diversity_gap", words, f"{sign} {gap * (1 - limits.gap):.2f}")
    yield from few_lost(RATES)
