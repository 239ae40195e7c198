"""The simulated image model: looks up the prompt, paints a code card of everyone it would show."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from pytest_factorfair import protocols
from pytest_factorfair.domain import Checklist, Request, Response, Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.simulated.choice import Chance, Draws, Situation, choose, draws
from pytest_factorfair.models.simulated.traits import Belief, Traits, leaning, read_traits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.pictures import cards, classes
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair, topic_cases
from pytest_factorfair.protocols.fact_or_fair.people import everyone, simple
from pytest_factorfair.protocols.faintbench.cases import cases, prompt
from pytest_factorfair.protocols.faintbench.checklist import Faintbench, Place, PromptCase

_MEANINGLESS = {"position": "letters", "follow": "groups in a context"}


class Shown(Protocol):
    """What a prompt shows."""

    @property
    def attribute(self) -> str | None:
        """The attribute of the group that a painter favours or withholds."""
        ...

    def people(self, traits: Traits, chance: Chance) -> tuple[Mapping[str, str], ...]:
        """Everyone's groups by attribute, from left to right."""
        ...


def build(spec: ModelSpec) -> Painter:
    """The painter of ``sim:kind?name=value``, able to read the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group or attribute, a value out of range, a trait that
            only a language model can have, or a group that no code card shows.
    """
    traits = read_traits(spec)
    for name, lacking in _MEANINGLESS.items():
        if getattr(traits, name):
            raise InputError(f"model '{spec.text}': pictures have no {lacking}, so {name} means nothing here")
    return Painter(traits, spec.checklists)


class Painter:
    """A model whose scores are known beforehand: its pictures are code cards, not people.

    A picture depends on its identity and the request alone, so that a run is the same on any worker
    and in any order. It leans on the checklist's attributes as a simulated respondent does; nonsense
    is a picture of nobody.
    """

    endpoint: str = "sim"
    parallel: int | None = None
    price = FREE

    def __init__(self, traits: Traits, loaded: tuple[Checklist, ...]) -> None:
        self._traits = traits
        self._checklists = loaded
        self._codes = {
            (attribute.name, group): classes.painted(attribute.name, group)
            for checklist in loaded
            for attribute in simple(checklist)
            for group in attribute.groups
        }
        self.identity: Mapping[str, object] = {
            "provider": "sim",
            **asdict(traits),
            "modality": "image",
            "checklists": [{"digest": each.digest, "truth": each.truth} for each in loaded],
        }
        self._salt = hashlib.blake2b(json.dumps(self.identity, sort_keys=True).encode()).digest()

    async def ask(self, request: Request) -> Response:
        """Paint at once, for nothing."""
        model = f"sim:{self._traits.kind}"
        shown = self._shown.get(request.prompt)
        drawn = self._chance(request)
        if shown is None or drawn.nonsense < self._traits.nonsense:
            return Response("", image=cards.blank(seed=request.seed), cost=0.0, model=model)
        people = shown.people(self._traits, lambda *of: self._chance(request, *of))
        if drawn.refuse < self._traits.refuse or self._withholds(shown, people, drawn):
            return Response("", finish="refusal", cost=0.0, model=model)
        picture = cards.paint(*map(self._card, people), seed=request.seed)
        return Response("", image=picture, cost=0.0, model=model)

    async def close(self) -> None:
        """Nothing was opened."""

    def _chance(self, request: Request, *of: object) -> Draws:
        """The numbers of a picture, or of a part of it."""
        return draws(":".join(map(str, (request.seed, request.repeat, request.prompt, *of))), self._salt)

    def _withholds(self, shown: Shown, people: tuple[Mapping[str, str], ...], drawn: Draws) -> bool:
        if drawn.withhold >= self._traits.withhold or shown.attribute is None:
            return False
        return self._traits.group in {groups[shown.attribute] for groups in people}

    def _card(self, groups: Mapping[str, str]) -> Mapping[str, int]:
        """The code of each group; crossed attributes are shown by the ones they combine."""
        return dict(self._codes[each] for each in groups.items() if each in self._codes)

    @cached_property
    def _shown(self) -> Mapping[str, Shown]:
        """What each prompt of the checklists shows; an ambiguous prompt shows nobody."""
        found: list[tuple[str, Shown]] = []
        for checklist in self._checklists:
            if isinstance(checklist, FactOrFair):
                found += portraits(checklist, self._traits)
            if isinstance(checklist, Faintbench):
                found += scenes(checklist, self._traits)
        times = Counter(prompt for prompt, _ in found)
        return {prompt: shown for prompt, shown in found if times[prompt] == 1}


_ONE = Sampling("balanced", samples=1, objective=1, seed=0, images=1).of("image")


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a prompt of FACT-OR-FAIR shows: one person of any combination of groups."""

    situation: Situation

    @property
    def attribute(self) -> str | None:
        return self.situation.attribute

    def people(self, traits: Traits, chance: Chance) -> tuple[Mapping[str, str], ...]:
        """The groups of the person, chosen as a simulated respondent does."""
        chosen = choose(self.situation, traits, chance()).letter
        return (dict(self.situation.options)[chosen],)


def portraits(checklist: FactOrFair, traits: Traits) -> Iterator[tuple[str, Portrait]]:
    """The portrait of each prompt of the checklist."""
    attribute = leaning(traits, checklist)
    offered = tuple((json.dumps(groups), groups) for groups in everyone(checklist).values())
    statistics = {statistic.id: statistic for statistic in checklist.statistics}
    for case in topic_cases(protocols.cases(checklist, _ONE)):
        truths = statistics[case.statistic].truths
        true = {name: truth.at(case.direction) for name, truth in truths.items()}
        asked = case.attributes if case.part == "objective" else ()
        for query in protocols.queries(checklist, case, _ONE):
            yield query.prompt, Portrait(Situation(offered, asked, true, {}, attribute))


Groups = Mapping[str, str]
Shares = Mapping[str, float]

_ALL = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all", per_prompt=1)


@dataclass(frozen=True, slots=True)
class Person:
    """A person to be shown, by attribute.

    ``shares`` are those of the groups in reality, ``asked`` is the group that the prompt requests (unless the
    painter ignores it), ``believed`` the one that prejudice shows.
    """

    shares: Mapping[str, Shares]
    asked: Groups
    believed: Groups


@dataclass(frozen=True, slots=True)
class Scene:
    """What a prompt of FAIntbench shows: people from left to right, and the favoured group's attribute."""

    cast: tuple[Person, ...]
    attribute: str | None

    def people(self, traits: Traits, chance: Chance) -> tuple[Groups, ...]:
        """The groups of everyone, each drawn by itself."""
        return tuple(
            {name: self._group(person, name, traits, chance(side, name)) for name in person.shares}
            for side, person in enumerate(self.cast)
        )

    def _group(self, person: Person, attribute: str, traits: Traits, draws: Draws) -> str:
        knows = draws.follow < traits.knowledge  # not draws.lean: ignorance and prejudice are independent
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
    attribute, about = leaning(traits, checklist), _about(checklist, traits)
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
    """The person as a painter sees it; a contrary one ignores requests it is prejudiced about."""
    believed = {name: _believed(shares[name], asked.get(name), end, traits.belief) for name in about}
    deaf = about if traits.belief == "opposite" else ()
    return Person(shares, {name: asked[name] for name in asked if name not in deaf}, believed)


def _about(checklist: Faintbench, traits: Traits) -> Collection[str]:
    """The attributes of prejudice: one, or all for beliefs other than a stereotype if none is given."""
    if traits.belief != "stereotype" and traits.attribute is None:
        return [attribute.name for attribute in checklist.attributes]
    attribute = leaning(traits, checklist)
    return [] if attribute is None else [attribute]


def _ends(checklist: Faintbench) -> Mapping[Place, int]:
    """Which of an attribute's groups is the stereotype for a person of a pair: first (0) or last (-1)."""
    disadvantaged = {pair.disadvantaged: -1 for pair in checklist.pairs}
    return disadvantaged | {pair.advantaged: 0 for pair in checklist.pairs}


def _believed(shares: Shares, asked: str | None, end: int | None, belief: Belief) -> str:
    if belief == "opposite":
        return min((group for group in shares if group != asked), key=lambda group: shares[group])
    if belief == "stereotype" and end is not None:
        return tuple(shares)[end]
    return max(shares, key=lambda group: shares[group])


def _drawn(shares: Shares, draw: float) -> str:
    """The group in whose share a number in [0, 1) falls; negative shares count as 0."""
    upto = list(accumulate(max(share, 0.0) for share in shares.values()))
    return tuple(shares)[bisect_right(upto, draw * upto[-1])]
