"""The simulated text model: answers the query behind a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.domain import Request, Response
from pytest_factorfair.languages import Replies
from pytest_factorfair.models.protocol import LETTERS
from pytest_factorfair.models.simulated.choice import choose, draws, either, probabilities
from pytest_factorfair.models.simulated.traits import (
    STYLES,
    Bias,
    SimulatedModel,
    Traits,
    read_traits,
    title,
)
from pytest_factorfair.models.spec import ModelSpec


def build(spec: ModelSpec) -> Respondent:
    """Build the respondent of ``sim:kind?name=value`` for the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group, attribute, name or condition, or a value out of range.
    """
    return Respondent(read_traits(spec), spec)


class Respondent(SimulatedModel):
    """A text model with scores that are known in advance.

    An answer depends only on the model's identity and the request, so a run is the same on any worker and in
    any order. In answer mode JSON, a refusal is marked as providers do, and nonsense is a random letter; in
    mode probabilities, both are probability outside the letters.
    """

    modes = LETTERS

    def __init__(self, traits: tuple[Traits, ...], spec: ModelSpec) -> None:
        super().__init__(traits, spec.checklists, **spec.mode)
        self._answers = spec.answers

    async def ask(self, request: Request) -> Response:
        """Answer immediately."""
        replies = self.knowledge.language(request)
        asked = self._distribution if self._answers == "probabilities" else self._reply
        text = asked(request, replies)
        is_refusal = self._answers == "json" and text in replies.refusals
        return Response(
            text,
            "refusal" if is_refusal else "stop",
            tokens_in=_tokens(request.prompt),
            tokens_out=1 if self._answers == "probabilities" else _tokens(text),
            model=title(self._traits),
        )

    def _reply(self, request: Request, replies: Replies) -> str:
        situation, biases = self.knowledge.look_up(request)
        if not isinstance(situation, Situation):
            return replies.unknown
        text = f"{request.seed}:{request.repeat}:{request.prompt}"
        drawn_for = [
            draws(f"{text}+{number}" if number else text, self._salt) for number in range(len(biases))
        ]
        chance = drawn_for[0]
        if chance.refuse < _refusal(situation, biases):
            return varied(replies.refusals, chance.pick)
        letter, motive, attribute = choose(situation, biases, drawn_for)
        if chance.nonsense < either(bias.traits.nonsense for bias in biases):
            if self._answers == "text":
                return varied(replies.nonsense, chance.pick)
            letter, motive = varied(situation.letters, chance.pick), "chance"
        for bias, drawn in zip(biases, drawn_for, strict=True):
            if drawn.withhold < bias.traits.withhold and letter in situation.matching(bias.groups):
                return varied(replies.refusals, chance.refuse)
        style = "json" if self._answers == "json" else self._traits[0].style
        written = STYLES[style] or varied(replies.sentences, chance.withhold)
        text = written.replace("<letter>", letter)
        if request.query is None or not request.query.explained:
            return text
        # The reason states what decided: the context if it was followed, the group if it was preferred.
        cited = {"follow": situation.source, "favour": "group", "prejudice": "group"}
        sentence = varied(replies.reasons[cited.get(motive) or motive], chance.withhold)
        group = dict(situation.options)[letter].get(attribute or "", "")
        reason = sentence.replace("<group>", group)
        inside = text.replace('"}', f'", "reason": {json.dumps(reason)}}}')
        return inside if inside != text else f"{text}\n{reason}"

    def _distribution(self, request: Request, replies: Replies) -> str:
        """The probabilities of each letter, of a refusal and of nonsense, as JSON."""
        situation, biases = self.knowledge.look_up(request)
        if not isinstance(situation, Situation):
            return json.dumps({replies.unknown: 1.0})
        letters, refused, unread = chances(situation, biases)
        tokens = {**letters, replies.refusals[0]: refused, replies.nonsense[0]: unread}
        return json.dumps(dict(sorted(tokens.items(), key=lambda pair: -pair[1])))


class Chances(NamedTuple):
    """The probabilities of a reply: of each letter, of a refusal, and of nonsense."""

    letters: Mapping[str, float]
    refused: float
    unread: float


def chances(situation: Situation, biases: Sequence[Bias]) -> Chances:
    """The probability of each reply in text mode, in closed form."""
    letters = probabilities(situation, biases)
    for bias in biases:
        for letter in situation.matching(bias.groups):
            letters[letter] *= 1 - bias.traits.withhold
    refuse = _refusal(situation, biases)
    nonsense = either(bias.traits.nonsense for bias in biases)
    withheld = max(1 - sum(letters.values()), 0.0)
    answered = (1 - refuse) * (1 - nonsense)
    return Chances(
        {letter: answered * share for letter, share in letters.items()},
        refuse + answered * withheld,
        (1 - refuse) * nonsense,
    )


def _refusal(situation: Situation, biases: Sequence[Bias]) -> float:
    """The probability that it refuses or declines, regardless of its choice."""
    refused = [bias.traits.refuse for bias in biases]
    return either(refused if situation.asked else [*refused, *(bias.traits.decline for bias in biases)])


def _tokens(text: str) -> int:
    """A rough estimate of the number of tokens."""
    return max(1, len(text) // 4)


def varied(sentences: Sequence[str], draw: float) -> str:
    """Choose one of the sentences by a random number in [0, 1)."""
    return sentences[int(draw * len(sentences))]
