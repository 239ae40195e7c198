"""The simulated image model: reads the prompt, paints a code card of everyone it would show."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Protocol

from pytest_factorfair.checklist.fact_or_fair.lineup import simple
from pytest_factorfair.domain import Checklist, FactOrFair, Faintbench, Request, Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.simulated import options
from pytest_factorfair.models.simulated.choice import Chance, Draws, draws
from pytest_factorfair.models.simulated.kinds import Traits
from pytest_factorfair.models.simulated.people import scenes
from pytest_factorfair.models.simulated.portraits import portraits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.pictures import cards, classes

_MEANINGLESS = {"position": "letters", "follow": "groups in a context"}


class Shown(Protocol):
    """What a prompt shows."""

    @property
    def attribute(self) -> str | None:
        """The one that the group a painter favours or withholds is of."""
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
    traits = options.traits(spec)
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
        """The code of each group; that of a crossed one is in those it is made of."""
        return dict(self._codes[each] for each in groups.items() if each in self._codes)

    @cached_property
    def _shown(self) -> Mapping[str, Shown]:
        """What each prompt of the checklists shows; one that asks for two things shows nobody."""
        found = [pair for each in self._checklists for pair in _all(each, self._traits)]
        times = Counter(prompt for prompt, _ in found)
        return {prompt: shown for prompt, shown in found if times[prompt] == 1}


def _all(checklist: Checklist, traits: Traits) -> Iterator[tuple[str, Shown]]:
    if isinstance(checklist, FactOrFair):
        yield from portraits(checklist, traits)
    if isinstance(checklist, Faintbench):
        yield from scenes(checklist, traits)
