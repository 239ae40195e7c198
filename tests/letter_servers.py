"""Simulated servers that are asked for a letter, as JSON or with log probabilities.

Unless its kind says otherwise, a reply depends on the request only, so that a run is the same in any order.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LETTERED = re.compile(r"(?<!\w)([A-Z])\. ")
_ASKED_FOR = re.compile(r'Reply with exactly \{"answer": "([A-Z])"\} and nothing else.')
_OTHERS = tuple(f" w{number}" for number in range(30))
MASS = 0.95
"""The total probability of the letters if a server does not mask other tokens."""


@dataclass(frozen=True)
class Kind:
    """A kind of server: what it supports, and how it lists impossible tokens."""

    continues: str = ""  # the field with which it continues an answer, "last" if none is needed
    forms: tuple[str, ...] = ("json_schema",)
    strict: bool = False  # rejects unknown fields
    lenient: bool = False  # ignores unknown forms of the schema
    masked: bool = False  # log probabilities are computed with the schema enforced
    nothing: float = -math.inf
    logprobs: bool = True
    faulty: bool = False  # a part of its replies are broken, see ``FAULTS``
    counts_cached: bool = False  # it counts the tokens that it computes, as llama.cpp does
    cached: float = 0.0  # what the second letter loses to the first if the prompt is cached
    batched: float = 0.0  # the same while other requests are in flight


KINDS = {
    "openai": Kind(strict=True, masked=True, nothing=-9999.0),
    "vllm": Kind(continues="continue_final_message", nothing=-9999.0),
    "sglang": Kind(continues="continue_final_message", masked=True),
    "llama.cpp": Kind(continues="last", nothing=-3.4028234663852886e38),
    "old": Kind(forms=("schema",), lenient=True),
    "tgi": Kind(continues="last", forms=("value",)),
    "plain": Kind(forms=()),
    "silent": Kind(logprobs=False),
    "faulty": Kind(continues="last", faulty=True),
    "caching": Kind(continues="last", cached=0.02),
    "caching llama.cpp": Kind(continues="last", counts_cached=True, cached=0.02),
    "batching": Kind(continues="continue_final_message", batched=0.03),
}

Top = list[dict[str, Any]]


def _other(top: Top, *texts: str) -> Top:
    return [{**candidate, "token": text} for candidate, text in zip(top, texts, strict=False)]


FAULTS: tuple[tuple[str, Callable[[Top], Top | None]], ...] = (
    ("", lambda top: top),
    ("no probabilities", lambda _: None),
    ("no probabilities", lambda _: []),
    ("no probabilities", lambda top: [{**top[0], "logprob": math.nan}, *top[1:]]),
    ("no probabilities", lambda top: [{**candidate, "logprob": -0.5} for candidate in top]),
    ("a letter that is not listed may matter", lambda top: top[:1]),
    ("no letter among the likeliest tokens", lambda top: _other(top, "\u0410", "\u0411", "\u0412", "\u0413")),
    ("no letter among the likeliest tokens", lambda top: _other(top, "AB", "BA", "CD", "DC")),
    ("refused by the model", lambda top: top),
)
"""Faults of a reply's tokens: the reason for which the answer is lost, and the fault."""


def fault(prompt: str) -> int:
    """The index of the fault in ``FAULTS`` that a faulty server's reply to a prompt has."""
    return 0 if _ASKED_FOR.fullmatch(prompt) else hashlib.sha256(prompt.encode()).digest()[9] % len(FAULTS)


def probabilities(prompt: str) -> dict[str, float]:
    """The probabilities of a prompt's letters, which add up to ``MASS``."""
    asked = _ASKED_FOR.fullmatch(prompt)
    letters = sorted(set(_LETTERED.findall(prompt))) or ["A", "B", "C", "D"]
    digest = hashlib.sha256(prompt.encode()).digest()
    weights = {letter: 1 + digest[index] % 8 for index, letter in enumerate(letters)}
    if asked:
        weights[asked[1]] = 100
    total = sum(weights.values())
    return {letter: MASS * weight / total for letter, weight in weights.items()}


def further(name: str) -> dict[str, Any]:
    """What a server's reply has beside its choice."""
    return {"timings": {"cache_n": 0, "prompt_n": 1}} if KINDS[name].counts_cached else {}


def complete(
    name: str, body: dict[str, Any], *, seen: bool = False, others: bool = False
) -> tuple[int, str, dict[str, Any]]:
    """A server's reply: its status, its text or error message, and its choice.

    ``seen`` is whether the prompt was asked before, ``others`` whether other requests are in flight.
    """
    kind, messages = KINDS[name], body["messages"]
    parameters = {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "logprobs",
        "top_logprobs",
        "response_format",
    }
    if kind.strict and (unknown := sorted(body.keys() - parameters)):
        return 400, f"Unrecognized request argument supplied: {unknown[0]}", {}
    form = body.get("response_format") or {}
    if not any(key in form for key in kind.forms):
        if form and kind.forms and not kind.lenient:
            return 422, f"response_format: missing field `{kind.forms[0]}`", {}
        form = {}
    begun = messages[-1]["role"] == "assistant"
    prompt = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    share = probabilities(prompt)
    shift = kind.cached * (seen and body.get("cache_prompt") is not False) + kind.batched * others
    first, second, *_ = share
    share |= {first: share[first] + shift, second: share[second] - shift}
    letter = max(share, key=lambda candidate: share[candidate])
    if begun and (kind.continues == "last" or body.get(kind.continues)):
        token = _token(letter, share, kind, masked=False)
        choice = _choice(letter + '"}', [token]) | {"finish_reason": "length"}
        if kind.faulty:
            reason, broken = FAULTS[fault(prompt)]
            if "refused" in reason:
                choice |= {"message": {"role": "assistant", "content": None, "refusal": "I cannot."}}
            top = broken(token["top_logprobs"])
            choice["logprobs"] = None if top is None else {"content": [{**token, "top_logprobs": top}]}
        return 200, letter, choice
    schema = form.get("json_schema", form).get("schema") if form else None
    if schema is not None:
        letters = schema["properties"]["answer"]["enum"]
        share = {letter: share.get(letter, 0.0) for letter in letters}
        letter = max(share, key=lambda candidate: share[candidate])
        text = json.dumps({"answer": letter} | ({"reason": "So."} if "reason" in schema["required"] else {}))
        certain = [_token(part, {part: 1.0}, kind) for part in ('{"', "answer", '":', ' "')]
        ends = [_token(part, {part: 1.0}, kind) for part in (text.partition(f'"{letter}')[2],)]
        return 200, text, _choice(text, [*certain, _token(letter, share, kind, masked=kind.masked), *ends])
    hello = "the word hello" in prompt
    text = "hello" if hello else json.dumps({"answer": letter})
    return 200, text, _choice(text, [_token(text, {text: 1.0}, kind)])


def _choice(text: str, tokens: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
        "logprobs": {"content": tokens} if tokens[0] else None,
    }


def _token(text: str, share: dict[str, float], kind: Kind, *, masked: bool = True) -> dict[str, Any]:
    if not kind.logprobs:
        return {}
    listed = dict(share)
    if masked:
        total = sum(share.values())
        listed = {token: probability / total for token, probability in share.items()}
    remainder = max(1 - sum(listed.values()), 0.0) / len(_OTHERS)
    top = sorted({**listed, **dict.fromkeys(_OTHERS, remainder)}.items(), key=lambda pair: -pair[1])[:20]
    logs = [
        {"token": token, "logprob": math.log(probability) if probability else kind.nothing}
        for token, probability in top
    ]
    return {"token": text, "logprob": logs[0]["logprob"], "bytes": list(text.encode()), "top_logprobs": logs}
