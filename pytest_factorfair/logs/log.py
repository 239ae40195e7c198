"""The log of another tool: what it asked a model and what the model replied, whatever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_factorfair.domain.exchange import Finish


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """A question with options, as the log has it beside the prompt.

    ``question`` includes the context if the log does not tell them apart; ``context`` is then empty.
    ``options`` are the letters and texts, in the order shown; ``targets`` are the letters of the right ones.
    ``metadata`` is what else the log says of the item: BBQ's ``category``, ``question_polarity``,
    ``context_condition``, ``answer_info`` ..., under the names of the log, as JSON values.
    """

    id: str
    question: str
    context: str
    options: tuple[tuple[str, str], ...]
    targets: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedReply:
    """A reply of a model with the prompt, unchanged.

    ``prompt`` is the user's message; of a conversation with several, all messages but those of the system,
    each after its role. The system's message is among the ``settings``, with the temperature and whatever
    else the log says of the call. ``repeat`` counts the replies to equal prompts as the tool did (epochs),
    from 0; None if the log does not. ``logprobs`` are the natural logarithms of the probabilities of the
    letters or, of a multiple-choice item whose options were scored, of the options by their letters.
    ``error`` is why there is no reply. ``where`` is its place in the log, for messages.
    """

    prompt: str
    text: str
    where: str
    repeat: int | None = None
    finish: Finish = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    logprobs: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    item: LoggedItem | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A log that is open for reading, without a reply in memory.

    ``format`` says who wrote it, with the version: "a log of Inspect 0.3.285". ``files`` are the SHA-256 of
    the files by name: the log, and those beside it that it needs. ``replies`` reads them from the
    beginning at each call; it raises an ``InputError`` that begins with ``file:place:`` where the log is damaged.
    """

    format: str
    files: Mapping[str, str]
    replies: Callable[[], Iterator[LoggedReply]]
