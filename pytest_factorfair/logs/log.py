"""The log of another tool: what it asked a model and what the model replied, whatever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pytest_factorfair.domain import listed
from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.models.logprobs import Token
from pytest_factorfair.redaction import fit


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
    from 0; None if the log does not. ``tokens`` are those of the reply with the log probabilities of the
    likeliest in the place of each; none if the model reasoned first. If options were scored instead,
    ``scores`` are their log likelihoods, by their texts or letters. ``noise`` is a response's. ``model`` is
    the model's name as it was asked for, and ``answered_by`` as its service gives it. ``error`` is why there
    is no reply. ``where`` is its place in the log, for messages.
    """

    prompt: str
    text: str
    where: str
    repeat: int | None = None
    finish: Finish = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tokens: Sequence[Token] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.0
    model: str = ""
    answered_by: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    item: LoggedItem | None = None

    @property
    def uncounted(self) -> LoggedReply:
        """The reply without the tokens of its call, which count once if it gave several replies."""
        return replace(self, tokens_in=None, tokens_out=None, tokens_reasoning=None)

    def begun(self, beginning: str) -> LoggedReply:
        """The reply with the ``beginning`` that the request gave it, unless it repeats that."""
        if not beginning or self.error or self.text.startswith(beginning):
            return self
        tokens = ({"token": beginning}, *self.tokens)
        return replace(self, text=f"{beginning}{self.text}", tokens=tokens)


@dataclass(frozen=True, slots=True)
class Log:
    """A log that is open for reading, without a reply in memory.

    ``format`` says who wrote it, with the version if known: "a log of Inspect 0.3.285". ``files`` are the
    SHA-256 of the log and of other files that it needs, by their paths relative to its folder. ``replies``
    reads them from the beginning at each call, and raises an ``InputError`` that begins with the place where
    the log is damaged.
    """

    format: str
    files: Mapping[str, str]
    replies: Callable[[], Iterator[LoggedReply]]

    def of_model(self, name: str | None) -> Log:
        """The log with the replies of one model, which needs no ``name`` if there is no other."""
        return replace(self, replies=partial(_of_model, self.replies, name))


def _of_model(replies: Callable[[], Iterator[LoggedReply]], name: str | None) -> Iterator[LoggedReply]:
    """The replies of a model.

    Raises:
        InputError: none is of this model or, without a name, they are of several.
    """
    models: dict[str, str] = {}
    for reply in (logged := replies()):
        models.setdefault(reply.model, reply.where)
        if name is None and len(models) > 1:
            models.update({other.model: other.where for other in logged})
            names = listed([f"'{fit(model)}'" for model in sorted(models)])
            raise InputError(
                f"{reply.where}: the log has replies of {len(models)} models, {names}; choose one with "
                f"--factorfair-model-arg=model=NAME"
            )
        if name in (None, reply.model):
            yield reply
    if name is not None and name not in models:
        known = nearest(name, filter(None, models)) or "; the log names no model"
        raise InputError(f"argument 'model': no reply in the log is of '{fit(name)}'{known}")
