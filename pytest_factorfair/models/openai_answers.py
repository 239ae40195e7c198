"""Chat completions that answer with a letter as JSON, or with the probability of each letter.

Services ignore parameters that they do not know, so every way is first tried with probes: prompts to which
a service that takes the parameters, and one that ignores them, reply differently.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pytest_factorfair.domain import BEGUN, Option, Query, Request, Response, letter_of, utf8
from pytest_factorfair.models.arguments import Count, Expected, Number
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_format import Parameters
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit

MOST_TOKENS = 20
"""Tokens whose log probabilities are asked for: as many as OpenAI and vLLM give."""

STRUCTURED = (
    "probabilities under structured output: what the model would say instead of a letter may be hidden"
)
NO_PROBABILITIES = "{}"

OWN_FIELDS = frozenset({"response_format", "logprobs", "continue_final_message", "add_generation_prompt"})
"""Fields of a request that the mode of the answers decides."""

_LETTERS = ("A", "B", "C", "D")
_BEFORE_THE_LETTER = re.compile(r'"answer"\s*:\s*"')
_ROUNDING = 0.001
_LIKELY = 0.2
"""Probability of the letters if even a weak model continues an answer; if it starts anew, it is 0."""
_WITHHELD = ("refusal", "filtered")


class UnfitModelError(Exception):
    """A reply shows that the model cannot answer in the way it was asked."""


One = Annotated[
    Number, Field(ge=1, le=1), Expected("1, or left out, with --factorfair-answers=probabilities")
]


class ProbabilitiesFormat(ChatFormat):
    """The settings of a chat model that is asked for probabilities: nothing may reshape its distribution."""

    temperature: One = 1
    top_p: One | None = None
    max_tokens: Count = 64

    @property
    def parameters(self) -> Parameters:
        return {"logprobs": True, "top_logprobs": MOST_TOKENS, **super().parameters}


class Way(ABC):
    """A way to ask for letters: what it adds to a request, and what it makes of a reply."""

    parameter: ClassVar[str]
    """The field that the service must support."""
    probes: ClassVar[tuple[Request, ...]]

    @abstractmethod
    def request(self, request: Request, body: Mapping[str, Any]) -> dict[str, object]:
        """The fields of a request, from those of a chat completion."""

    @abstractmethod
    def response(self, reply: Mapping[str, Any], plain: Response) -> Response:
        """The response in a reply; ``plain`` is the chat completion's.

        Raises:
            UnfitModelError: the model cannot answer in this way.
        """

    @abstractmethod
    def objection(self, responses: Sequence[Response]) -> str:
        """Why the responses to the probes show that the service does not support it; "" if they do not."""


def ways(spec: ModelSpec, *, openai: bool) -> tuple[Way, ...]:
    """The ways to get the letters that a spec asks for, the best first.

    ``openai`` is whether the service is known to do as OpenAI does, which never continues an answer.
    """
    scored = spec.answers == "probabilities"
    if openai:
        return (Schema(scored=scored),)
    begun = (Begun(),) if scored else ()
    return (*begun, Schema(scored=scored), Schema(scored=scored, nested=False))


def _probe(prompt: str) -> Request:
    options = tuple(Option(letter, letter, (letter,), {}) for letter in _LETTERS)
    return Request.of(Query("probe", prompt, options, repeat=0, seed=0, background={}))


@dataclass(frozen=True)
class Schema(Way):
    """Structured output: a JSON schema with the letters of each query.

    ``nested`` is OpenAI's form of it, which vLLM, SGLang, llama.cpp and Ollama take, too; the other one is
    that of TGI (``value``) and llama-cpp-python (``schema``). If it is ``scored``, the answer is the
    probabilities of the tokens at the letter.
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
        if not self.scored or plain.finish in _WITHHELD:
            return plain
        message, usage = reply["choices"][0]["message"], reply.get("usage")
        details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
        hidden = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
        if message.get("reasoning_content") or message.get("reasoning") or hidden:
            raise UnfitModelError("the model reasons before it answers: its answers have no probabilities")
        tokens = _tokens(reply)
        matches = list(_BEFORE_THE_LETTER.finditer("".join(_text(token) for token in tokens)))
        end = 0
        for token in tokens:
            end += len(_text(token))
            if matches and end > matches[-1].end():
                return replace(plain, text=_distribution(token), finish="stop", notes=(STRUCTURED,))
        is_json = not plain.text.strip() or plain.text.lstrip().startswith("{")
        return replace(plain, text=NO_PROBABILITIES) if is_json else plain

    def objection(self, responses: Sequence[Response]) -> str:
        (response,) = responses
        text = response.text.strip()
        if text == NO_PROBABILITIES:
            return "it gives no log probabilities"
        if response.finish in _WITHHELD or (response.finish == "length" and (not text or text[0] == "{")):
            return ""
        try:
            obeys = self.scored or json.loads(text)["answer"] in _LETTERS
        except (ValueError, TypeError, LookupError, RecursionError):
            obeys = False
        if obeys and text.startswith("{"):
            return ""
        return f"it ignores {self.parameter}: it replied '{fit(text)}' where its schema allows a letter"


class Begun(Way):
    """An assistant turn that is begun, so that the next token is the letter."""

    parameter = "continue_final_message"
    probes = tuple(_probe(f'Reply with exactly {BEGUN}{letter}"}} and nothing else.') for letter in "AB")

    def request(self, request: Request, body: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002  # the same for all
        return {
            **body,
            **{name: 1 for name in ("max_tokens", "max_completion_tokens") if name in body},
            "messages": [*body["messages"], {"role": "assistant", "content": BEGUN}],
            "add_generation_prompt": False,
            self.parameter: True,
        }

    def response(self, reply: Mapping[str, Any], plain: Response) -> Response:
        if plain.finish in _WITHHELD:
            return plain
        tokens = _tokens(reply)
        return replace(plain, text=_distribution(tokens[0]) if tokens else NO_PROBABILITIES, finish="stop")

    def objection(self, responses: Sequence[Response]) -> str:
        if any(response.text == NO_PROBABILITIES for response in responses):
            return "it gives no log probabilities"
        if any(response.finish in _WITHHELD for response in responses):
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


def _tokens(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tokens of a chat completion with their log probabilities; none if it has none."""
    logprobs = reply["choices"][0].get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [token for token in content if isinstance(token, Mapping)] if isinstance(content, list) else []


def _text(token: Mapping[str, Any]) -> str:
    return utf8(str(token.get("token")))


def _distribution(token: Mapping[str, Any]) -> str:
    """The likeliest tokens in a token's place, as JSON, by falling probability, NaN if it is not a number."""
    listed = token.get("top_logprobs")
    top = (
        [alternative for alternative in listed if isinstance(alternative, Mapping)]
        if isinstance(listed, list)
        else []
    )
    pairs = []
    for alternative in top:
        logprob, probability = alternative.get("logprob"), math.nan
        if isinstance(logprob, int | float) and not isinstance(logprob, bool):
            # Rounding may leave a probability just above 1; one far above it is kept, and refused later.
            probability = math.exp(min(logprob, 1.0))
            probability = probability if logprob > _ROUNDING else min(probability, 1.0)
        pairs.append((_text(alternative), probability))
    pairs.sort(key=lambda pair: -pair[1])
    # vLLM lists the token that it drew even if it is not among the likeliest: it would not bound the others.
    if len(pairs) >= MOST_TOKENS and pairs[-1][0] == _text(token):
        pairs.pop()
    probabilities: dict[str, float] = {}
    for text, probability in pairs:  # parts of a character look alike
        probabilities[text] = probabilities.get(text, 0.0) + probability
    return json.dumps(probabilities, ensure_ascii=False)
