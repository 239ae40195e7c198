"""Requests to models, their responses, usage and limits, and the detections of a detector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_factorfair.domain.case import Query
from pytest_factorfair.domain.text import dollars

Finish = Literal["stop", "length", "filtered", "refusal"]

WITHHELD: frozenset[Finish] = frozenset({"filtered", "refusal"})
"""How responses end that contain no answer, whatever their text."""

AnswerMode = Literal["text", "json", "probabilities"]
"""Answer modes of language models: text, a letter as JSON, or the probability of each letter."""

Reuse = Literal["all", "none", "only"]
"""Which stored answers a run takes: ``only`` asks nothing, ``none`` asks everything again."""

Wanted = Literal["text", "json", "probabilities", "people"]
"""The kind of reply that a request wants: an answer in one of the answer modes, or a picture's people."""

GRACE = 5.0
"""How many seconds to wait for replies in flight when a run ends, because they are paid for."""

BEGUN = '{"answer": "'
"""The beginning of an answer; the next token that a model generates after it is a letter."""


def letter_of(token: str) -> str:
    """Strip a token to the letter in it: `` A``, ``"A`` and ``A"`` are ``A``.

    The last two of the stripped characters stand for a space in vocabularies.
    """
    return token.strip(" \t\n\"'`*_({[)}]:.,\u2581\u0120")


@dataclass(frozen=True, slots=True)
class Request:
    """A call to a model: a user message, with the repeat and seed that a sampling provider may use.

    ``query`` is the query behind the prompt, which simulated models use to answer; all others only get the
    prompt and its picture.
    """

    prompt: str
    repeat: int = 0
    seed: int = 0
    query: Query | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, query: Query) -> Request:
        """The request for a query."""
        return cls(query.prompt, query.repeat, query.seed, query)


@dataclass(frozen=True, slots=True)
class Response:
    """The unchanged response of a model.

    ``finish`` is why the model stopped: ``length`` means cut off, ``filtered`` stopped by the provider's
    content filter, ``refusal`` a refusal that the provider marks as such. ``tokens_out`` include
    ``tokens_reasoning``, those of hidden reasoning. ``model`` is the name that the service gives the model
    that answered, ``configuration`` its ``system_fingerprint``; empty if it gives none. ``cost`` is in USD,
    None if unknown. ``notes`` are deviations from the request that a report must mention; ``dropped`` are the
    parameters that were left out because the model does not accept them; ``sources`` are what a model that
    searches cites: URLs, or titles.
    ``noise`` is the standard error of the logit of each letter that comes from what else the service computes
    at the time, if the response holds probabilities; 0 if they depend on the request alone.

    An image model returns a picture: ``image`` contains its encoded bytes until the store saves them;
    ``image_file`` is then its name in the store's folder. ``text`` is the endpoint's revised prompt, or
    empty.
    """

    text: str
    finish: Finish = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str = ""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    tokens_reasoning: int | None = None
    sources: tuple[str, ...] = ()
    noise: float = 0.0
    configuration: str = ""
    image: bytes | None = field(default=None, repr=False)
    image_file: str = ""

    @property
    def reusable(self) -> bool:
        """Whether later runs reuse the response; only empty ones are asked for again.

        Refused, filtered and cut-off responses are reused: otherwise, repeated runs would replace them one by
        one until none is left, and pay for each again.
        """
        return self.finish != "stop" or bool(self.text.strip() or self.image or self.image_file)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A query with its response (new or from the store), or with an error in one line.

    ``calls`` is how often the model was called, including failures; ``probes`` are the responses to calls
    that were made instead of the query's, to find out what the service supports.
    """

    query: Query
    key: str
    response: Response | None
    error: str = ""
    cached: bool = False
    calls: int = 0
    probes: tuple[Response, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a run: calls, answers from the store, tokens, and cost in USD (None if unknown).

    ``tokens_reasoning`` are part of ``tokens_out``, and 0 if the service does not count them. For
    ``estimated`` calls, which returned no cost or have not ended, the cost includes an upper bound.
    ``throttled`` calls were rejected by the endpoint (429), which was then not called for ``waited`` seconds.
    ``in_shards`` of the calls were made by the ``shards`` shards of the run. Services ``completed`` lines of
    batches for ``batch_cost``, a part of the cost; ``batched`` were read as answers, ``unreadable`` were not.
    ``retries`` are the calls for a query after its first.
    """

    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    throttled: int = 0
    waited: float = 0.0
    shards: int = 0
    in_shards: int = 0
    estimated: int = 0
    tokens_reasoning: int = 0
    completed: int = 0
    batched: int = 0
    unreadable: int = 0
    batch_cost: float = 0.0
    retries: int = 0

    @classmethod
    def of(cls, exchanges: Iterable[Exchange]) -> Usage:
        """The usage of several exchanges, including failed calls.

        The cost is unknown if the cost of any response is.
        """
        exchanges = tuple(exchanges)
        fresh = [
            exchange.response
            for exchange in exchanges
            if exchange.response is not None and not exchange.cached
        ]
        fresh += [probe for exchange in exchanges for probe in exchange.probes]
        costs = [response.cost for response in fresh if response.cost is not None]
        return cls(
            calls=sum(exchange.calls for exchange in exchanges),
            cached=sum(exchange.cached for exchange in exchanges),
            tokens_in=sum(response.tokens_in or 0 for response in fresh),
            tokens_out=sum(response.tokens_out or 0 for response in fresh),
            cost=sum(costs, 0.0) if len(costs) == len(fresh) else None,
            tokens_reasoning=sum(response.tokens_reasoning or 0 for response in fresh),
            retries=sum(max(exchange.calls - len(exchange.probes) - 1, 0) for exchange in exchanges),
        )

    def __add__(self, other: Usage) -> Usage:
        priced = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if priced else None,
            throttled=self.throttled + other.throttled,
            waited=self.waited + other.waited,
            shards=self.shards + other.shards,
            in_shards=self.in_shards + other.in_shards,
            estimated=self.estimated + other.estimated,
            tokens_reasoning=self.tokens_reasoning + other.tokens_reasoning,
            completed=self.completed + other.completed,
            batched=self.batched + other.batched,
            unreadable=self.unreadable + other.unreadable,
            batch_cost=self.batch_cost + other.batch_cost,
            retries=self.retries + other.retries,
        )

    @property
    def reasoning(self) -> str:
        """The part of the output tokens that was hidden reasoning, as text to follow their number."""
        return f", {self.tokens_reasoning:,} of them for reasoning" if self.tokens_reasoning else ""

    @property
    def bill(self) -> str:
        """The cost as text."""
        if self.cost is None:
            return "cost unknown"
        return f"cost {'at most ' if self.estimated else ''}{dollars(self.cost)}"


@dataclass(frozen=True, slots=True)
class Face:
    """A face, with the groups that a detector perceives in it, by attribute.

    An attribute is omitted if the face's class is none of the checklist's groups. ``confidence`` is the
    detector's probability of each perceived group; ``box`` is x, y, width and height in pixels. ``shares``
    are the probabilities of all groups, by attribute, for scores that add up probabilities.
    """

    groups: Mapping[str, str]
    confidence: Mapping[str, float]
    box: tuple[float, float, float, float]
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector perceives in a picture: its faces, from left to right, or an error.

    ``error`` says why the picture could not be read. ``unparsed`` says why a model's reply about the picture
    could not be parsed, which counts as the detector's failure in comparisons with people. ``sides`` are the
    left and the right person, from a detector that does not find faces but has different questions for
    pictures of two people.
    """

    faces: tuple[Face, ...] = ()
    error: str = ""
    unparsed: str = ""
    sides: tuple[Face, ...] | None = None

    def shown(self, people: int | None) -> tuple[Face, ...]:
        """The faces in a picture that should show a number of people, None for any number."""
        two = people == 2  # noqa: PLR2004 - left and right
        return self.sides if two and self.sides is not None else self.faces
