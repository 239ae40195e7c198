"""Chat completions that answer with a letter as JSON, or with the probability of each letter.

Services silently ignore unknown parameters, so every way to ask is first tested with probes: prompts to
which a service replies differently if it ignores the parameters.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from pytest_factorfair.domain import BEGUN, WITHHELD, Option, Query, Request, Response, letter_of
from pytest_factorfair.models.arguments import AcceptedValues, Count, Number
from pytest_factorfair.models.logprobs import (
    MOST_TOKENS,
    NO_PROBABILITIES,
    distribution,
    reasoned,
    token_after,
    tokens_in,
)
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_format import Parameters
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit

STRUCTURED = (
    "probabilities under structured output: what the model would say instead of a letter may be hidden"
)

OWN_FIELDS = frozenset({"response_format", "logprobs", "continue_final_message", "add_generation_prompt"})
"""Request fields that the answer mode sets, so that users cannot."""

_LETTERS = ("A", "B", "C", "D")
_BEFORE_THE_LETTER = re.compile(r'"answer"\s*:\s*"')
_LIKELY = 0.2
"""The letters' minimum probability in a continued answer; even weak models reach it.

If the model starts a new answer instead, the probability is about 0.
"""


UNCACHED: Mapping[str, object] = {"cache_prompt": False}
"""Makes llama.cpp's server compute the whole prompt; the probabilities depend on how much it caches."""

QUESTIONS, PER_QUESTION = 4, 3
"""How many questions measure the noise of probabilities, and how often each of them is asked."""

DECIMALS = 6
"""Decimals of the noise, as of probabilities in answers."""

LEAST_PROBABILITY = 0.001
"""The least probability of a letter whose logit is compared; servers round those of unlikely ones."""

LEAST_NOISE = 0.002
"""The least noise that a report mentions; it changes a probability of one half by 0.0005."""

NOISY = "its probabilities depend on what else the server computes at the time"
ONE_CONNECTION = " (--factorfair-max-connections=1 without -n may avoid it)"
"""The remedy for llama.cpp's server, which reuses nothing then."""


class UnfitModelError(Exception):
    """A reply shows that the model does not support this way to ask."""


One = Annotated[
    Number, Field(ge=1, le=1), AcceptedValues("1, or left out, with --factorfair-answers=probabilities")
]


class ProbabilitiesFormat(ChatFormat):
    """The settings of a chat model that is asked for probabilities, which sampling must not change."""

    temperature: One = 1
    top_p: One | None = None
    max_tokens: Count = 64

    @property
    def parameters(self) -> Parameters:
        return {"logprobs": True, "top_logprobs": MOST_TOKENS, **super().parameters}


class Way(ABC):
    """A way to ask for letters: extends requests, interprets replies, and tests whether it is supported."""

    parameter: ClassVar[str]
    """The request field that the service must support."""
    probes: ClassVar[tuple[Request, ...]]

    @abstractmethod
    def request(self, request: Request, body: Mapping[str, Any]) -> dict[str, object]:
        """Extend ``body``, the fields of a plain chat completion, to ask for a letter."""

    @abstractmethod
    def response(self, reply: Mapping[str, Any], plain: Response) -> Response:
        """The response with the letter or probabilities; ``plain`` is the reply read as plain text.

        Raises:
            UnfitModelError: the model does not support this way.
        """

    @abstractmethod
    def objection(self, responses: Sequence[Response]) -> str:
        """Why the responses to the probes show that the service does not support this way; "" if it does."""


def ways(spec: ModelSpec, *, openai: bool) -> tuple[Way, ...]:
    """The ways to ask for letters in the spec's answer mode, the preferred one first.

    ``openai`` is whether the service behaves like OpenAI's, which never continues a begun answer.
    """
    scored = spec.answers == "probabilities"
    if openai:
        return (Schema(scored=scored),)
    begun = (Prefill(),) if scored else ()
    return (*begun, Schema(scored=scored), Schema(scored=scored, nested=False))


def _probe(prompt: str) -> Request:
    options = tuple(Option(letter, letter, (letter,), {}) for letter in _LETTERS)
    return Request.of(Query("probe", prompt, options, repeat=0, seed=0, background={}))


@dataclass(frozen=True)
class Schema(Way):
    """Structured output: a JSON schema that only allows the letters of the query.

    ``nested`` selects OpenAI's form of the field, which vLLM, SGLang, llama.cpp and Ollama also accept;
    otherwise it has the form of TGI (``value``) and llama-cpp-python (``schema``). If ``scored``, the answer
    consists of the probabilities of the tokens at the letter's position.
    """

    scored: bool = False
    nested: bool = True

    parameter = "response_format"
    probes = (_probe("Reply with the word hello and nothing else."),)

    def request(self, request: Request, body: Mapping[str, Any]) -> dict[str, object]:
        query = request.query
        properties: dict[str, object] = {
            "answer": {
                "type": "string",
                "enum": [option.letter for option in query.options] if query else list(_LETTERS),
            }
        }
        if query and query.explained:
            properties["reason"] = {"type": "string"}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        nested = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        flat = {"type": "json_object", "schema": schema, "value": schema}
        return {**body, self.parameter: nested if self.nested else flat}

    def response(self, reply: Mapping[str, Any], plain: Response) -> Response:
        if not self.scored or plain.finish in WITHHELD:
            return plain
        choice = reply["choices"][0]
        if reasoned(choice["message"], plain.tokens_reasoning):
            raise UnfitModelError("the model reasons before it answers: its answers have no probabilities")
        token = token_after(_BEFORE_THE_LETTER, tokens_in(choice.get("logprobs")))
        if token is not None:
            text = distribution(token, listed=MOST_TOKENS)
            return replace(plain, text=text, finish="stop", notes=(STRUCTURED,))
        is_json = not plain.text.strip() or plain.text.lstrip().startswith("{")
        return replace(plain, text=NO_PROBABILITIES) if is_json else plain

    def objection(self, responses: Sequence[Response]) -> str:
        (response,) = responses
        text = response.text.strip()
        if text == NO_PROBABILITIES:
            return "it gives no log probabilities"
        if response.finish in WITHHELD or (response.finish == "length" and (not text or text[0] == "{")):
            return ""
        try:
            obeys = self.scored or json.loads(text)["answer"] in _LETTERS
        except (ValueError, TypeError, LookupError, RecursionError):
            obeys = False
        if obeys and text.startswith("{"):
            return ""
        return f"it ignores {self.parameter}: it replied '{fit(text)}' where its schema allows a letter"


class Prefill(Way):
    """A prefilled assistant turn that the model continues, so that the next token is the letter."""

    parameter = "continue_final_message"
    probes = tuple(_probe(f'Reply with exactly {BEGUN}{letter}"}} and nothing else.') for letter in "AB")

    def request(self, request: Request, body: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002
        return {
            **body,
            **{name: 1 for name in ("max_tokens", "max_completion_tokens") if name in body},
            "messages": [*body["messages"], {"role": "assistant", "content": BEGUN}],
            "add_generation_prompt": False,
            self.parameter: True,
        }

    def response(self, reply: Mapping[str, Any], plain: Response) -> Response:
        if plain.finish in WITHHELD:
            return plain
        tokens = tokens_in(reply["choices"][0].get("logprobs"))
        text = distribution(tokens[0], listed=MOST_TOKENS) if tokens else NO_PROBABILITIES
        return replace(plain, text=text, finish="stop")

    def objection(self, responses: Sequence[Response]) -> str:
        if any(response.text == NO_PROBABILITIES for response in responses):
            return "it gives no log probabilities"
        if any(response.finish in WITHHELD for response in responses):
            return ""
        probabilities = []
        for response in responses:
            letters = dict.fromkeys(_LETTERS, 0.0)
            for token, probability in json.loads(response.text).items():
                if (letter := letter_of(token)) in letters:
                    letters[letter] += probability
            probabilities.append(letters)
        former, latter = probabilities
        likely = min(sum(former.values()), sum(latter.values())) > _LIKELY
        continues = likely and former["A"] > latter["A"] and latter["B"] > former["B"]
        return "" if continues else "it does not continue a begun answer"


def caches_prompts(reply: Mapping[str, Any]) -> bool:
    """Whether a reply is from llama.cpp's server, the only one that counts cached prompt tokens like this."""
    timings = reply.get("timings")
    return isinstance(timings, Mapping) and "prompt_n" in timings


class Turn(NamedTuple):
    """A question to ask in a round of the repetitions."""

    question: int
    round: int
    request: Request


ALONE, AGAIN, AMONG = range(3)


class Repetitions:
    """Whether probabilities stay the same if a question is asked alone, again, and with others in flight.

    Servers compute several requests together, and reuse what they have computed of a prompt. Both change the
    order of additions and so the rounding errors, which a quantised model amplifies. The questions are the
    run's first ones with a number before them: no reply is an answer of the run, and no prompt is cached.
    """

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self._replies: dict[tuple[int, int], Response | None] = {}
        self.waiting: list[Turn] = []
        """The turns of the last round, in which questions are asked together, that nobody has taken."""

    def alone(self, request: Request) -> Turn | None:
        """The next call of the first two rounds, which have one call in flight; None after them."""
        question, is_repeated = divmod(len(self._replies), 2)
        if question >= QUESTIONS:
            return None
        if is_repeated:
            return Turn(question, AGAIN, self._requests[question])
        numbered = replace(request, prompt=f"Question {question + 1}.\n\n{request.prompt}")
        self._requests[question:] = [numbered]
        return Turn(question, ALONE, numbered)

    def keep(self, turn: Turn, reply: Response | None) -> None:
        """Keep the reply to a turn; None if the service rejected the question."""
        self._replies[turn.question, turn.round] = reply
        if len(self._replies) == AMONG * QUESTIONS:
            self.waiting = [Turn(question, AMONG, request) for question, request in enumerate(self._requests)]

    @property
    def noise(self) -> float | None:
        """The standard deviation of the change of a logit, of the question that changes most; None at first.

        Logits, because rounding errors change them by about as much whatever the probabilities.
        """
        if len(self._replies) < PER_QUESTION * QUESTIONS:
            return None
        changes = [0.0]
        for question, request in enumerate(self._requests):
            first, *others = (
                _logarithms(self._replies[question, number], request) for number in (ALONE, AGAIN, AMONG)
            )
            for logarithms in others:
                rises = [logarithms[letter] - first[letter] for letter in first.keys() & logarithms.keys()]
                if len(rises) > 1:  # what all logits have in common changes no probability
                    changes.append(statistics.stdev(rises))
        return round(max(changes), DECIMALS)


def _logarithms(reply: Response | None, request: Request) -> dict[str, float]:
    """The logarithm of the probability of each of the request's letters that is likely enough to matter."""
    if reply is None or reply.finish != "stop" or request.query is None or reply.text[:1] != "{":
        return {}  # without a distribution, which is an object
    totals = {option.letter: 0.0 for option in request.query.options}
    for token, probability in json.loads(reply.text).items():
        if (letter := letter_of(token)) in totals:
            totals[letter] += probability
    return {letter: math.log(total) for letter, total in totals.items() if total > LEAST_PROBABILITY}
