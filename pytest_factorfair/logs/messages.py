"""What logs of chats have in common: messages and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.logprobs import Token, is_reasoning, reasoned, tokens_in
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

_TEXTS = ("text", "input_text", "output_text")
_PICTURE = re.compile(r"\s*(?:!\[[^\]]*\]\()?data:image/")


class Conversation(NamedTuple):
    """The messages before a reply: the ``prompt``, as in a ``LoggedReply``, and what the ``system`` said.

    ``begun`` is what the last message has begun to say in the assistant's place.
    """

    prompt: str
    system: str
    begun: str = ""

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
    begun = others.pop()[1] if len(others) > 1 and others[-1][0] == "assistant" else ""
    alone = len(others) == 1
    prompt = others[0][1] if alone else "\n\n".join(f"{role}: {text}" for role, text in others)
    return Conversation(prompt, "\n\n".join(system), begun)


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
        if is_reasoning(part):
            continue
        if kind not in _TEXTS or not isinstance(text, str):
            other = str(kind) if kind not in _TEXTS else repr(part)
            raise InputError(f"{where}: a message contains {fit(other)}; only text is judged")
        texts.append(plain(text, where))
    return "".join(texts)


def tokens_of(message: Mapping[str, Any], logprobs: object, hidden: int | None) -> tuple[Token, ...]:
    """The tokens of a message with log probabilities; none if it was reasoned about, see ``reasoned``."""
    return () if reasoned(message, hidden) else tokens_in(logprobs)


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
