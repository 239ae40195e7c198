"""What logs of chats have in common: messages, settings, reasons to stop, and the odds of letters."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_factorfair.domain import letter_of, utf8
from pytest_factorfair.errors import InputError
from pytest_factorfair.redaction import conceal_keys, fit

_SETTINGS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "frequency_penalty",
            "presence_penalty", "reasoning_effort", "reasoning_tokens",
        )
    },
    **dict.fromkeys(
        ("max_completion_tokens", "max_output_tokens", "max_new_tokens", "max_gen_toks", "maxOutputTokens"),
        "max_tokens",
    ),
    **dict.fromkeys(("until", "stop_sequences", "stop_seqs", "stopSequences"), "stop"),
    "topP": "top_p",
    "topK": "top_k",
}  # fmt: skip
"""The settings that are taken from logs, by the names that tools give them.

Whatever else a log says of a call, such as its headers and keys, is not read.
"""

_TEXTS = frozenset({"text", "input_text", "output_text"})
_HIDDEN = frozenset({"reasoning", "thinking", "redacted_thinking"})
_PICTURE = re.compile(r"\s*(?:!\[[^\]]*\]\()?data:image/")


class Conversation(NamedTuple):
    """The messages before a reply: the ``prompt``, as in a ``LoggedReply``, and what the ``system`` said."""

    prompt: str
    system: str

    @property
    def settings(self) -> Mapping[str, str]:
        """The system's message as a setting."""
        if not self.system:
            return {}
        conceal_keys(self.system)
        return {"system": self.system}


def conversation(messages: object, where: str) -> Conversation:
    """The texts of messages, which are objects with a role and a content.

    Raises:
        InputError: they are none, or contain a picture or something else than text.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise InputError(f"{where}: expected messages with role and content, not {fit(repr(messages))}")
    system: list[str] = []
    others: list[tuple[str, str]] = []
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InputError(f"{where}: expected a message with role and content, not {fit(repr(message))}")
        text = text_of(message.get("content"), where)
        if message["role"] in ("system", "developer"):
            system.append(text)
        else:
            others.append((message["role"], text))
    alone = len(others) == 1
    prompt = others[0][1] if alone else "\n\n".join(f"{role}: {text}" for role, text in others)
    return Conversation(prompt, "\n\n".join(system))


def text_of(content: object, where: str) -> str:
    """The text of a message's content: a string, or a list of parts.

    Raises:
        InputError: it contains a picture or something else than text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return plain(content, where)
    texts = []
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
        text = part.get("text") if isinstance(part, Mapping) else part
        if kind in _HIDDEN:
            continue
        if kind not in _TEXTS or not isinstance(text, str):
            raise InputError(f"{where}: a message contains {fit(str(kind))}; only text is judged")
        texts.append(plain(text, where))
    return "".join(texts)


def plain(text: str, where: str) -> str:
    """The text of a prompt or a reply as Unicode.

    Raises:
        InputError: it is a picture.
    """
    if _PICTURE.match(text):
        raise InputError(f"{where}: it is a picture; only text is judged")
    return utf8(text)


def asked_in(prompt: str | list[Any], where: str) -> Conversation:
    """What a prompt asks that is a text, messages, or messages as JSON in a text.

    Raises:
        InputError: it contains a picture or something else than text.
    """
    messages = _messages_in(prompt) if isinstance(prompt, str) else prompt
    if messages is not None:
        return conversation(messages, where)
    return Conversation(plain(str(prompt), where), "")


def _messages_in(text: str) -> list[Any] | None:
    """The messages that a text holds as JSON; None if it is an ordinary text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    of_chat = isinstance(messages, list) and all(
        isinstance(message, dict) and {"role", "content"} <= message.keys() for message in messages
    )
    return messages if of_chat and messages else None


def settings_in(*sources: object) -> dict[str, Any]:
    """The settings in mappings, of which later ones take precedence."""
    settings: dict[str, Any] = {}
    for source in sources:
        if isinstance(source, Mapping):
            for name, value in source.items():
                if name in _SETTINGS and _is_setting(value):
                    settings[_SETTINGS[name]] = value
    return settings


def _is_setting(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(part, str) for part in value)
    return isinstance(value, str | int | float)


def letter_logprobs(tokens: Iterable[tuple[str, float, Mapping[str, float]]]) -> dict[str, float]:
    """The log probabilities of letters where a reply has its letter.

    Of each token of the reply, ``tokens`` have the text, its log probability, and those of the likeliest
    tokens in its place. Empty if no token is a letter, or several are.
    """
    lettered = [(token, logprob, others) for token, logprob, others in tokens if _is_letter(letter_of(token))]
    if len(lettered) != 1:
        return {}
    ((token, logprob, others),) = lettered
    return by_letter((letter_of(name), value) for name, value in {**others, token: logprob}.items())


def by_letter(logprobs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Add up the probabilities of tokens with the same letter; others are left out."""
    sums: dict[str, float] = {}
    for letter, logprob in logprobs:
        if _is_letter(letter) and logprob > -math.inf:
            sums[letter] = math.exp(logprob) + sums.get(letter, 0.0)
    return {letter: math.log(total) for letter, total in sums.items() if total > 0}


def _is_letter(text: str) -> bool:
    return len(text) == 1 and "A" <= text <= "Z"


def openai_logprobs(choice: Mapping[str, Any]) -> dict[str, float]:
    """The log probabilities of letters in a choice of a chat completion."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    tokens = []
    for token in content if isinstance(content, list) else []:
        if not _is_token(token):
            return {}
        listed = token.get("top_logprobs")
        top = [other for other in listed if _is_token(other)] if isinstance(listed, list) else []
        tokens.append((token["token"], token["logprob"], {other["token"]: other["logprob"] for other in top}))
    return letter_logprobs(tokens)


def _is_token(token: object) -> bool:
    return (
        isinstance(token, Mapping)
        and isinstance(token.get("token"), str)
        and isinstance(token.get("logprob"), int | float)
    )
