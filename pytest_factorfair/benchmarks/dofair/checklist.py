"""A checklist of historical scenes, its cases and queries, and the people whom simulated painters know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice
from math import ceil, lcm

from pytest_factorfair.benchmarks.asking import DepictedPerson
from pytest_factorfair.checklist.queries import fill, numbered
from pytest_factorfair.domain import Case, Checklist, Query, Sampling

PART = "historical"
"""The only part of a checklist."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The people of a historical event, and their groups of one attribute.

    ``dominant`` are the groups of most of them, which are among those ``involved``; it is empty if unknown.
    """

    id: str
    attribute: str
    region: str
    people: str
    event: str
    dominant: tuple[str, ...]
    involved: tuple[str, ...]

    @property
    def leading(self) -> tuple[str, ...]:
        """The dominant groups; all that were involved, if they are unknown."""
        return self.dominant or self.involved


@dataclass(frozen=True, slots=True)
class Dofair(Checklist):
    """A checklist of scenes; ``prompts`` are the templates of their prompts, by attribute."""

    scenes: tuple[Scene, ...]
    prompts: Mapping[str, str]

    __hash__ = Checklist.__hash__


@dataclass(frozen=True, slots=True)
class SceneCase(Case):
    """One scene, painted ``samples`` times."""

    scene: Scene

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        return {
            "part": frozenset({self.part}),
            "attribute": frozenset(self.attributes),
            "region": frozenset({self.scene.region}),
            "people": frozenset({"several"}),
        }

    @property
    def title(self) -> str:
        return f"{self.scene.people}, {self.scene.event}"

    @property
    def path(self) -> tuple[str, ...]:
        return (self.part, self.scene.attribute, self.scene.region)

    @property
    def marks(self) -> tuple[str, ...]:
        return self.path


def scene_cases(cases: Iterable[Case]) -> tuple[SceneCase, ...]:
    """The cases that are scenes."""
    return tuple(case for case in cases if isinstance(case, SceneCase))


def cases(checklist: Dofair, sampling: Sampling) -> tuple[SceneCase, ...]:
    """A case per scene, in the order of the checklist."""
    return tuple(
        SceneCase(scene.id, checklist.name, PART, (scene.attribute,), sampling.per_scene, scene)
        for scene in checklist.scenes
    )


def queries(checklist: Dofair, case: SceneCase, sampling: Sampling) -> tuple[Query, ...]:
    """The scene's prompt, once for each picture; seeds differ."""
    prompt = fill(
        checklist.prompts[case.scene.attribute],
        {"people": case.scene.people, "event": case.scene.event},
        agree=not sampling.verbatim,
        language=checklist.language,
    )
    return numbered([(prompt, (), {})] * case.samples, case=case, seed=sampling.seed)


def depicted_people(checklist: Dofair, query: Query) -> tuple[DepictedPerson, ...] | None:
    """The people of a faithful picture; by stereotype, all of them are of the dominant groups.

    Scenes of several attributes may share a prompt, and so a picture. The number of people is a multiple of
    the number of groups, so that all groups can be equally frequent.
    """
    if not isinstance(query.case, SceneCase):
        return None
    scenes = _by_prompt(checklist)[query.case.scene.people, query.case.scene.event]
    groups = {scene.attribute: checklist.attribute(scene.attribute).groups for scene in scenes}
    multiple = lcm(*map(len, groups.values()))
    least = max(len(scene.involved) + len(scene.leading) for scene in scenes)
    number = multiple * ceil(least / multiple)
    shown = {scene.attribute: (*scene.involved, *islice(cycle(scene.leading), number)) for scene in scenes}
    return tuple(
        DepictedPerson(
            {
                attribute: {group: float(group == shown[attribute][person]) for group in names}
                for attribute, names in groups.items()
            },
            {},
            stereotype={scene.attribute: scene.leading[person % len(scene.leading)] for scene in scenes},
        )
        for person in range(number)
    )


@lru_cache(maxsize=8)
def _by_prompt(checklist: Dofair) -> Mapping[tuple[str, str], tuple[Scene, ...]]:
    """The scenes with the same people and event, in the order of the checklist."""
    scenes: dict[tuple[str, str], tuple[Scene, ...]] = {}
    for scene in checklist.scenes:
        scenes[scene.people, scene.event] = (*scenes.get((scene.people, scene.event), ()), scene)
    return scenes
