"""The simulated image model: reads the prompt, paints a code card of whom it would show."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property

from pytest_factorfair import checklist as checklists
from pytest_factorfair.checklist.fact_or_fair.lineup import everyone, simple
from pytest_factorfair.domain import (
    Checklist,
    FactOrFair,
    Request,
    Response,
    Sampling,
    TopicCase,
    fact_or_fair,
    topic_cases,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.simulated import options
from pytest_factorfair.models.simulated.choice import Situation, choose, draws
from pytest_factorfair.models.simulated.kinds import Traits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.pictures import cards, classes

_ONE = Sampling("balanced", samples=1, objective=1, seed=0, images=1).of("image")
_MEANINGLESS = {"position": "letters", "follow": "groups in a context"}


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
    for checklist in spec.checklists:
        for attribute in simple(checklist):
            for group in attribute.groups:
                classes.painted(attribute.name, group)
    return Painter(traits, spec.checklists)


class Painter:
    """A model whose scores are known beforehand: its pictures are code cards, not people.

    A picture depends on its identity and the request alone, so that a run is the same on any worker
    and in any order. It leans on the checklist's attributes as a simulated respondent does; nonsense
    is a picture of nobody.
    """

    endpoint: str = "sim"
    parallel: int | None = None

    def __init__(self, traits: Traits, loaded: tuple[Checklist, ...]) -> None:
        self._traits = traits
        self._checklists = loaded
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
        situation = self._situations.get(request.prompt)
        chance = draws(f"{request.seed}:{request.repeat}:{request.prompt}", self._salt)
        if situation is None or chance.nonsense < self._traits.nonsense:
            return Response("", image=cards.blank(seed=request.seed), cost=0.0, model=model)
        chosen = choose(situation, self._traits, chance).letter
        withheld = chosen in situation.having(situation.attribute, self._traits.group)
        if chance.refuse < self._traits.refuse or (withheld and chance.withhold < self._traits.withhold):
            return Response("", finish="refusal", cost=0.0, model=model)
        return Response("", image=cards.paint(self._codes[chosen], seed=request.seed), cost=0.0, model=model)

    async def close(self) -> None:
        """Nothing was opened."""

    @cached_property
    def _codes(self) -> Mapping[str, Mapping[str, int]]:
        """The code card of each combination of groups, by the name it has among the options."""
        return {
            name: dict(classes.painted(each.name, groups[each.name]) for each in simple(checklist))
            for checklist in self._checklists
            for name, groups in _everyone(checklist)
        }

    @cached_property
    def _situations(self) -> Mapping[str, Situation]:
        """What each prompt of the checklists asks; one that two topics share asks nothing."""
        found = [pair for each in fact_or_fair(self._checklists) for pair in _situations(each, self._traits)]
        times = Counter(prompt for prompt, _ in found)
        return {prompt: situation for prompt, situation in found if times[prompt] == 1}


def _situations(checklist: FactOrFair, traits: Traits) -> Iterator[tuple[str, Situation]]:
    leaning = options.leaning(traits, checklist)
    offered = tuple(_everyone(checklist))
    statistics = {statistic.id: statistic for statistic in checklist.statistics}
    for case in topic_cases(checklists.cases(checklist, _ONE)):
        truths = statistics[case.statistic].truths
        true = {name: truth.at(case.direction) for name, truth in truths.items()}
        for query in checklists.queries(checklist, case, _ONE):
            yield query.prompt, Situation(offered, _asked(case), true, {}, leaning)


def _asked(case: TopicCase) -> tuple[str, ...]:
    return case.attributes if case.part == "objective" else ()


def _everyone(checklist: Checklist) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every combination of groups, under a name of its own."""
    for groups in everyone(checklist).values():
        yield json.dumps(groups), groups
