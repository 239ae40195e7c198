"""The log probabilities in a completion: which token is the letter, and what else is likely in its place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_factorfair.domain import utf8

Token = Mapping[str, Any]
"""A token in OpenAI's form: its text (``token``), and the likeliest ones in its place (``top_logprobs``)."""

MOST_TOKENS = 20
"""How many log probabilities to request per token: the maximum of OpenAI and vLLM."""

NO_PROBABILITIES = "{}"
"""The distribution of a reply without log probabilities."""

ROUNDING = 0.001
"""How far rounding can raise the logarithm of a probability above 0."""


REASONING = ("reasoning_content", "reasoning", "thinking", "redacted_thinking")
"""The fields of messages that hold reasoning, and the types of such parts of their contents."""


def is_reasoning(part: object) -> bool:
    """Whether a part of a message's content is reasoning, which Gemini marks as a thought."""
    return isinstance(part, Mapping) and (part.get("type") in REASONING or bool(part.get("thought")))


def reasoned(message: Mapping[str, Any], hidden: int | None) -> bool:
    """Whether the model reasoned before it answered: the probabilities of its answer depend on that.

    ``hidden`` is the number of tokens of reasoning that the service counts, which it may not show.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    return bool(hidden) or any(map(message.get, REASONING)) or any(map(is_reasoning, parts))


def tokens_in(logprobs: object) -> tuple[Token, ...]:
    """The tokens of a reply by its ``logprobs``; empty if it has none.

    Completions without chat, and Gemini, have the chosen and the likeliest tokens in lists of their own.
    """
    if not isinstance(logprobs, Mapping):
        return ()
    if isinstance(content := logprobs.get("content"), list):
        return tuple(token for token in content if isinstance(token, Mapping))
    for names in (("tokens", "top_logprobs"), ("chosenCandidates", "topCandidates")):
        chosen, likeliest = map(logprobs.get, names)
        if isinstance(chosen, list) and isinstance(likeliest, list):
            return tuple(map(_token, chosen, likeliest))
    return ()


def _token(chosen: object, likeliest: object) -> Token:
    """The chosen token with the likeliest ones: of a completion without chat by their texts, or of Gemini."""
    top = likeliest if isinstance(likeliest, Mapping) else {}
    if isinstance(chosen, Mapping):
        listed = top.get("candidates")
        pairs = [
            (candidate.get("token"), candidate.get("logProbability"))
            for candidate in (listed if isinstance(listed, list) else ())
            if isinstance(candidate, Mapping)
        ]
        chosen = chosen.get("token")
    else:
        pairs = [*top.items()]
    return {"token": chosen, "top_logprobs": [{"token": text, "logprob": logprob} for text, logprob in pairs]}


def token_after(beginning: re.Pattern[str], tokens: Sequence[Token]) -> Token | None:
    """The token at the end of the last match of ``beginning``, where the letter is; None if there is none."""
    matches = list(beginning.finditer("".join(map(_text, tokens))))
    end = 0
    for token in tokens:
        end += len(_text(token))
        if matches and end > matches[-1].end():
            return token
    return None


def distribution(token: Token, *, listed: int) -> str:
    """The likeliest tokens at a token's position as JSON, by descending probability (NaN if not a number).

    ``listed`` is the number of tokens in a full list.
    """
    alternatives = token.get("top_logprobs")
    pairs = []
    for alternative in alternatives if isinstance(alternatives, list) else ():
        if not isinstance(alternative, Mapping):
            continue
        logprob, probability = alternative.get("logprob"), math.nan
        if isinstance(logprob, int | float) and not isinstance(logprob, bool):
            # Rounding can make a probability slightly larger than 1. A much larger one is kept: it is an
            # error, which is reported when the answer is read.
            probability = math.exp(min(logprob, 1.0))
            probability = probability if logprob > ROUNDING else min(probability, 1.0)
        pairs.append((_text(alternative), probability))
    pairs.sort(key=lambda pair: -pair[1])
    # vLLM appends the sampled token even if it is not among the likeliest. It is removed, because tokens that
    # are not listed may be likelier.
    if len(pairs) >= listed and pairs[-1][0] == _text(token):
        pairs.pop()
    probabilities: dict[str, float] = {}
    for text, probability in pairs:  # partial characters decode to the same text
        probabilities[text] = probabilities.get(text, 0.0) + probability
    return json.dumps(probabilities, ensure_ascii=False)


def _text(token: Token) -> str:
    return utf8(str(token.get("token")))
