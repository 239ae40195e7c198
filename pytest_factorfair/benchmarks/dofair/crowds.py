"""The faces in one model's pictures, counted by group, beside the groups that took part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

import numpy as np

from pytest_factorfair.benchmarks.dofair.checklist import SceneCase
from pytest_factorfair.domain import LOST, Attribute, Record
from pytest_factorfair.statistics.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Crowds:
    """What one model's pictures of the scenes of an attribute show.

    ``faces`` (pictures, groups) counts the faces of each group in the pictures with a face that was read, and
    ``scene`` (pictures,) is the row of each picture's scene. ``lost`` (scenes, 3) counts the other pictures,
    in the order of ``LOST``; one without a face is unparsed. ``dominant`` and ``involved`` (scenes, groups)
    are the true groups.
    """

    model: str
    checklist: str
    attribute: Attribute
    cases: tuple[SceneCase, ...]
    dominant: BoolArray
    involved: BoolArray
    faces: IntArray
    scene: IntArray
    lost: IntArray
    benchmark: str = "dofair"

    @property
    def comparison_key(self) -> tuple[str, str]:
        """The checklist and the attribute: other runs may have asked its scenes, too."""
        return self.checklist, self.attribute.name

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of its scenes."""
        return tuple(dict.fromkeys(case.scene.region for case in self.cases))

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        return {
            "model": frozenset({self.model}),
            "checklist": frozenset({self.checklist}),
            "attribute": frozenset({self.attribute.name}),
            "region": frozenset(self.regions),
        }

    @property
    def pictures(self) -> IntArray:
        """The number of pictures of each scene with a face that was read, (scenes,)."""
        return np.bincount(self.scene, minlength=len(self.cases))

    @property
    def asked(self) -> IntArray:
        """The number of pictures asked of each scene, (scenes,)."""
        return np.asarray(self.pictures + self.lost.sum(axis=1))

    def at(self, scenes: BoolArray) -> Crowds:
        """The pictures of some scenes."""
        rows, pictures = np.cumsum(scenes) - 1, scenes[self.scene]
        return replace(
            self,
            cases=tuple(case for case, holds in zip(self.cases, scenes, strict=True) if holds),
            dominant=self.dominant[scenes],
            involved=self.involved[scenes],
            faces=self.faces[pictures],
            scene=rows[self.scene[pictures]],
            lost=self.lost[scenes],
        )

    def of_region(self, region: str | None) -> Crowds:
        """The pictures of a region's scenes; of all scenes for None."""
        if region is None:
            return self
        return self.at(np.array([case.scene.region == region for case in self.cases], np.bool_))


def count(
    records: Iterable[Record], cases: Sequence[SceneCase], attribute: Attribute, *, model: str
) -> Crowds:
    """Count the faces in a model's pictures of cases about one attribute; other records are ignored."""
    rows = {(model, case.checklist, case.id): row for row, case in enumerate(cases)}
    columns = {group: column for column, group in enumerate(attribute.groups)}
    lost = np.zeros((len(cases), len(LOST)), np.int64)
    faces: list[IntArray] = []
    scenes: list[int] = []
    for record in records:
        row = rows.get(record.case)
        if row is None:
            continue
        for _, answers in groupby(record.answers, key=attrgetter("query")):
            of_picture = tuple(answers)
            groups = [
                columns[answer.groups[attribute.name]]
                for answer in of_picture
                if attribute.name in answer.groups
            ]
            if groups:
                faces.append(np.bincount(groups, minlength=len(columns)))
                scenes.append(row)
            else:
                outcome = of_picture[0].outcome
                lost[row, LOST.index("unparsed" if outcome == "answered" else outcome)] += 1
    return Crowds(
        model,
        cases[0].checklist,
        attribute,
        tuple(cases),
        dominant=_marked(columns, [case.scene.dominant for case in cases]),
        involved=_marked(columns, [case.scene.involved for case in cases]),
        faces=np.array(faces, np.int64).reshape(-1, len(columns)),
        scene=np.array(scenes, np.int64),
        lost=lost,
    )


def _marked(columns: Mapping[str, int], groups_by_scene: Sequence[Sequence[str]]) -> BoolArray:
    """The groups of each scene, (scenes, groups)."""
    return np.array([[group in groups for group in columns] for groups in groups_by_scene], np.bool_)
