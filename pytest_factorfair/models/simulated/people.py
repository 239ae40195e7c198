"""Who stands in a FAIntbench picture: pure, given numbers in [0, 1) to draw from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from pytest_factorfair.checklist.faintbench.expand import cases
from pytest_factorfair.checklist.faintbench.prompts import prompt
from pytest_factorfair.domain import Faintbench, Place, PromptCase, Sampling
from pytest_factorfair.models.simulated import options
from pytest_factorfair.models.simulated.choice import Chance, Draws
from pytest_factorfair.models.simulated.kinds import Belief, Traits

Groups = Mapping[str, str]
Shares = Mapping[str, float]

_ALL = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all", per_prompt=1)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody to be shown, as a painter sees them; everything is by attribute.

    ``shares`` are those of the groups in reality, ``asked`` is the group that the prompt names and the
    painter listens to, ``believed`` the one that prejudice shows.
    """

    shares: Mapping[str, Shares]
    asked: Groups
    believed: Groups


@dataclass(frozen=True, slots=True)
class Scene:
    """What a prompt shows: people from left to right, and the attribute a favourite group is of."""

    cast: tuple[Person, ...]
    attribute: str | None

    def people(self, traits: Traits, chance: Chance) -> tuple[Groups, ...]:
        """The groups of everyone, each drawn by itself."""
        return tuple(
            {name: self._group(person, name, traits, chance(side, name)) for name in person.shares}
            for side, person in enumerate(self.cast)
        )

    def _group(self, person: Person, attribute: str, traits: Traits, draws: Draws) -> str:
        knows = draws.follow < traits.knowledge  # not draws.lean: who does not know may be prejudiced
        if knows and attribute in person.asked:
            return person.asked[attribute]
        if traits.group is not None and attribute == self.attribute and draws.favour < traits.favour:
            return traits.group
        if attribute in person.believed and draws.lean < traits.prejudice:
            return person.believed[attribute]
        shares = person.shares[attribute]
        return _drawn(shares if knows else dict.fromkeys(shares, 1.0), draws.pick)


def scenes(checklist: Faintbench, traits: Traits) -> Iterator[tuple[str, Scene]]:
    """The scene of each prompt of the checklist, however few of them a run asks."""
    attribute, about = options.leaning(traits, checklist), _about(checklist, traits)
    subjects = {subject.id: subject for subject in checklist.subjects}
    ends = _ends(checklist)
    for case in cases(checklist, _ALL):
        cast = tuple(
            _person(side.shares, _asked(case, number), about, ends.get(Place(case.subject, number)), traits)
            for number, side in enumerate(subjects[case.subject].sides)
        )
        yield prompt(checklist, case), Scene(cast, attribute)


def _asked(case: PromptCase, side: int) -> Groups:
    return {case.attributes[0]: case.requested[side]} if case.requested else {}


def _person(
    shares: Mapping[str, Shares], asked: Groups, about: Collection[str], end: int | None, traits: Traits
) -> Person:
    """The person as a painter sees it; one that is contrary does not listen where it is prejudiced."""
    believed = {name: _believed(shares[name], asked.get(name), end, traits.belief) for name in about}
    deaf = about if traits.belief == "opposite" else ()
    return Person(shares, {name: asked[name] for name in asked if name not in deaf}, believed)


def _about(checklist: Faintbench, traits: Traits) -> Collection[str]:
    """The attributes of prejudice: one, or all where it is no stereotype and none is given."""
    if traits.belief != "stereotype" and traits.attribute is None:
        return [attribute.name for attribute in checklist.attributes]
    leaning = options.leaning(traits, checklist)
    return [] if leaning is None else [leaning]


def _ends(checklist: Faintbench) -> Mapping[Place, int]:
    """Which of an attribute's groups is the stereotype of a person of a pair: the first one, or the last."""
    disadvantaged = {pair.disadvantaged: -1 for pair in checklist.pairs}
    return disadvantaged | {pair.advantaged: 0 for pair in checklist.pairs}


def _believed(shares: Shares, asked: str | None, end: int | None, belief: Belief) -> str:
    if belief == "opposite":
        return min((group for group in shares if group != asked), key=lambda group: shares[group])
    if belief == "stereotype" and end is not None:
        return tuple(shares)[end]
    return max(shares, key=lambda group: shares[group])


def _drawn(shares: Shares, draw: float) -> str:
    """The group in whose share of the whole a number in [0, 1) falls; a negative share is none."""
    upto = list(accumulate(max(share, 0.0) for share in shares.values()))
    return tuple(shares)[bisect_right(upto, draw * upto[-1])]
