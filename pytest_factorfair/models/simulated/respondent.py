"""The simulated text model: answers the query that a prompt was made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.languages import Replies
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import LETTERS
from pytest_factorfair.models.simulated.choice import Decision, choose, draws, probabilities
from pytest_factorfair.models.simulated.traits import STYLES, Knowledge, Traits, read_traits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.protocols.protocol import Situation


def build(spec: ModelSpec) -> Respondent:
    """The respondent of ``sim:kind?name=value``, which knows the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group or attribute, or a value out of range.
    """
    return Respondent(read_traits(spec), spec)


class Respondent:
    """A model whose scores are known beforehand.

    Its answer depends on its identity and the request alone, so that a run is the same on any
    worker and in any order. Asked for JSON, it refuses as a provider marks refusals, and nonsense is any
    letter; asked for probabilities, both are mass outside the letters.
    """

    endpoint: str = "sim"
    parallel: int | None = None
    price = FREE
    modes = LETTERS

    def __init__(self, traits: Traits, spec: ModelSpec) -> None:
        self._traits = traits
        self._answers = spec.answers
        self._knowledge = Knowledge(traits, spec.checklists)
        self.identity: Mapping[str, object] = {
            "provider": "sim",
            **asdict(traits),
            "checklists": [{"digest": each.digest, "truth": each.truth} for each in spec.checklists],
            **spec.mode,
        }
        self._salt = hashlib.blake2b(json.dumps(self.identity, sort_keys=True).encode()).digest()

    async def ask(self, request: Request) -> Response:
        """Answer immediately, at no cost."""
        said = self._knowledge.language(request)
        asked = self._distribution if self._answers == "probabilities" else self._reply
        text = asked(request, said)
        is_refusal = self._answers == "json" and text in said.refusals
        return Response(
            text,
            "refusal" if is_refusal else "stop",
            tokens_in=_tokens(request.prompt),
            tokens_out=1 if self._answers == "probabilities" else _tokens(text),
            cost=0.0,
            model=f"sim:{self._traits.kind}",
        )

    async def close(self) -> None:
        """Nothing was opened."""

    def _reply(self, request: Request, said: Replies) -> str:
        situation, attribute = self._knowledge.look_up(request)
        if not isinstance(situation, Situation):
            return said.unknown
        traits = self._traits
        chance = draws(f"{request.seed}:{request.repeat}:{request.prompt}", self._salt)
        if chance.refuse < traits.refuse:
            return varied(said.refusals, chance.pick)
        choice = choose(situation, attribute, traits, chance)
        if chance.nonsense < traits.nonsense:
            if self._answers == "text":
                return varied(said.nonsense, chance.pick)
            choice = Decision(varied(tuple(letter for letter, _ in situation.options), chance.pick), "chance")
        if choice.letter in situation.having(attribute, traits.group) and chance.withhold < traits.withhold:
            return varied(said.refusals, chance.refuse)
        style = "json" if self._answers == "json" else traits.style
        written = STYLES[style] or varied(said.sentences, chance.withhold)
        text = written.replace("<letter>", choice.letter)
        if request.query is None or not request.query.explained:
            return text
        # A reason that is true: it cites the context if that was followed, the group if that decided.
        cited = {"follow": situation.source, "favour": "group", "prejudice": "group"}
        sentence = varied(said.reasons[cited.get(choice.motive) or choice.motive], chance.withhold)
        group = dict(situation.options)[choice.letter].get(attribute or "", "")
        reason = sentence.replace("<group>", group)
        inside = text.replace('"}', f'", "reason": {json.dumps(reason)}}}')
        return inside if inside != text else f"{text}\n{reason}"  # inside its JSON, or below its words

    def _distribution(self, request: Request, said: Replies) -> str:
        """Each letter's probability, and those of a refusal and of nonsense."""
        situation, attribute = self._knowledge.look_up(request)
        if not isinstance(situation, Situation):
            return json.dumps({said.unknown: 1.0})
        traits = self._traits
        letters = probabilities(situation, attribute, traits)
        for letter in situation.having(attribute, traits.group):
            letters[letter] *= 1 - traits.withhold
        withheld = max(1 - sum(letters.values()), 0.0)
        answered = (1 - traits.refuse) * (1 - traits.nonsense)
        tokens = {letter: answered * share for letter, share in letters.items()} | {
            said.refusals[0]: traits.refuse + answered * withheld,
            said.nonsense[0]: (1 - traits.refuse) * traits.nonsense,
        }
        return json.dumps(dict(sorted(tokens.items(), key=lambda each: -each[1])))


def _tokens(text: str) -> int:
    """Roughly as many as a tokenizer would count."""
    return max(1, len(text) // 4)


def varied(sentences: Sequence[str], draw: float) -> str:
    """One of the sentences, by a number in [0, 1)."""
    return sentences[int(draw * len(sentences))]
