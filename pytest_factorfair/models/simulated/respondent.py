"""The simulated text model: reads the prompt, answers in text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property

from pytest_factorfair.domain import Checklist, Citation, Request, Response
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.simulated.choice import Choice, Draws, Situation, choose, draws
from pytest_factorfair.models.simulated.phrases import (
    NONSENSE,
    REASONS,
    REFUSALS,
    UNKNOWN,
    explained,
    styled,
    varied,
)
from pytest_factorfair.models.simulated.traits import Traits, leaning, read_traits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.protocols.fact_or_fair.checklist import IN_GROUP, Context, FactOrFair, fact_or_fair
from pytest_factorfair.protocols.fact_or_fair.recognise import Recognised, Recogniser


def build(spec: ModelSpec) -> Respondent:
    """The respondent of ``sim:kind?name=value``, able to read the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group or attribute, or a value out of range.
    """
    return Respondent(read_traits(spec), spec.checklists)


class Respondent:
    """A model whose scores are known beforehand.

    Its answer depends on its identity and the request alone, so that a run is the same on any
    worker and in any order.
    """

    endpoint: str = "sim"
    parallel: int | None = None
    price = FREE

    def __init__(self, traits: Traits, checklists: tuple[Checklist, ...]) -> None:
        self._traits = traits
        self._checklists = checklists
        self.identity: Mapping[str, object] = {
            "provider": "sim",
            **asdict(traits),
            "checklists": [{"digest": each.digest, "truth": each.truth} for each in checklists],
        }
        self._salt = hashlib.blake2b(json.dumps(self.identity, sort_keys=True).encode()).digest()

    async def ask(self, request: Request) -> Response:
        """Answer at once, for nothing."""
        text = self._reply(request)
        return Response(
            text,
            tokens_in=_tokens(request.prompt),
            tokens_out=_tokens(text),
            cost=0.0,
            model=f"sim:{self._traits.kind}",
        )

    async def close(self) -> None:
        """Nothing was opened."""

    @cached_property
    def _readers(self) -> tuple[Reader, ...]:
        readable = fact_or_fair(self._checklists)
        return tuple(Reader(each, leaning(self._traits, each)) for each in readable)

    def _reply(self, request: Request) -> str:
        read = (reader.read(request.prompt) for reader in self._readers)
        situation = next(filter(None, read), None)
        if situation is None:
            return UNKNOWN
        chance = draws(f"{request.seed}:{request.repeat}:{request.prompt}", self._salt)
        return _answer(situation, self._traits, chance)


def _answer(situation: Situation, traits: Traits, chance: Draws) -> str:
    if chance.refuse < traits.refuse:
        return varied(REFUSALS, chance.pick)
    if chance.nonsense < traits.nonsense:
        return varied(NONSENSE, chance.pick)
    choice = choose(situation, traits, chance)
    letter = choice.letter
    if letter in situation.having(situation.attribute, traits.group) and chance.withhold < traits.withhold:
        return varied(REFUSALS, chance.refuse)
    if situation.source is None:
        return styled(letter, traits.style)
    return explained(letter, traits.style, _reason(situation, choice, chance))


def _reason(situation: Situation, choice: Choice, chance: Draws) -> str:
    """A reason that is true: it cites the context if that was followed, the group if that decided."""
    sources = {"follow": situation.source, "favour": "group", "prejudice": "group"}
    sentences = REASONS[sources.get(choice.motive) or choice.motive]
    groups = dict(situation.options)[choice.letter]
    return varied(sentences, chance.withhold).replace("<group>", groups.get(situation.attribute or "", ""))


def _tokens(text: str) -> int:
    """Roughly as many as a tokenizer would count."""
    return max(1, len(text) // 4)


class Reader:
    """Reads the prompts of one checklist for a respondent that is prejudiced about one of its attributes."""

    def __init__(self, checklist: FactOrFair, attribute: str | None) -> None:
        self._recogniser = Recogniser(checklist)
        self._statistics = {statistic.id: statistic for statistic in checklist.statistics}
        self._contexts = {context.id: context for context in checklist.contexts}
        self._attribute = attribute

    def read(self, prompt: str) -> Situation | None:
        """The situation that a prompt describes; None if it is not one of the checklist's."""
        seen = self._recogniser.recognise(prompt)
        if seen is None:
            return None
        statistic = self._statistics[seen.statistic]
        truths = {name: truth.at(seen.direction) for name, truth in statistic.truths.items()}
        asked = tuple(seen.options[0][1]) if seen.part == "objective" else ()
        source = _source(self._contexts.get(seen.context or "")) if seen.explained else None
        return Situation(seen.options, asked, truths, self._named(seen, truths), self._attribute, source)

    def _named(self, seen: Recognised, truths: Mapping[str, str]) -> Mapping[str, str]:
        """The groups the context names: random ones stand in the prompt, true ones are the topic's."""
        context = self._contexts.get(seen.context or "")
        if context is None or context.background == "random":
            return seen.background
        return {name: group for name, group in truths.items() if name in context.attributes}


def _source(context: Context | None) -> Citation:
    """What a context offers to cite; without one, only the people's groups."""
    if context is None or context.background == "none":
        return "group"
    if context.background == "truth":
        return "prior"
    return "identity" if context.id == IN_GROUP else "news"
