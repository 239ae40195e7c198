"""What goes to a model, what comes back, what that cost, and what a detector sees in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_factorfair.domain.case import Query

Finish = Literal["stop", "length", "filtered", "refusal"]

AnswerMode = Literal["text", "json", "probabilities"]
"""What a language model is asked for: words, one of the letters as JSON, or the probability of each."""

Wanted = Literal["text", "json", "probabilities", "people"]
"""What a request asks for: an answer of a language model, or who is seen in its picture."""

GRACE = 5.0
"""Seconds for which replies in flight are awaited when a run ends: they are paid for."""

BEGUN = '{"answer": "'
"""The beginning of an answer after which a model's next token is a letter."""


def letter_of(token: str) -> str:
    """A token without what may surround a letter in it: `` A``, ``"A`` and ``A"`` are ``A``.

    The last two of the characters stand for a space in vocabularies.
    """
    return token.strip(" \t\n\"'`*_({[)}]:.,\u2581\u0120")


@dataclass(frozen=True, slots=True)
class Request:
    """One call: a single user message, with the repeat and seed a sampling provider may use.

    ``query`` is the source of the prompt: simulated models use it to answer; all others see only the prompt
    and its picture.
    """

    prompt: str
    repeat: int = 0
    seed: int = 0
    query: Query | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, query: Query) -> Request:
        """The call for a query."""
        return cls(query.prompt, query.repeat, query.seed, query)


@dataclass(frozen=True, slots=True)
class Response:
    """What a model returned, as it returned it.

    ``finish`` is why the model stopped: ``length`` means cut off, ``filtered`` stopped by the provider's
    content filter, ``refusal`` a refusal that the provider marks as such. ``cost`` is in USD; None means
    unknown. ``notes`` are deviations from the request that a report must mention; ``dropped`` names the
    parameters that the model did not accept, and that were left out.

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
    image: bytes | None = field(default=None, repr=False)
    image_file: str = ""

    @property
    def reusable(self) -> bool:
        """Whether a later run reuses it as the answer; empty and cut-off outputs are asked again.

        Refusals and filtered outputs are answers: asking them again until one gets through would let
        repeated runs replace them one by one.
        """
        has_content = bool(self.text.strip() or self.image or self.image_file)
        return self.finish in ("refusal", "filtered") or (self.finish == "stop" and has_content)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A query and its outcome: a response (fresh or from the store) or the one-line error.

    ``calls`` is how often the model was called for it, failures included; ``probes`` are the responses to
    calls that were made in its place to find out what the service supports.
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
    """Calls made, answers taken from the store, tokens, and USD; a cost of None is unknown.

    The cost of ``estimated`` calls is an upper bound: they ended without a bill, or have not ended.
    ``throttled`` calls were rejected by the endpoint (429), which blocked it for ``waited`` seconds.
    ``in_shards`` of the calls were made by this many ``shards`` of the run.
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

    @classmethod
    def of(cls, exchanges: Iterable[Exchange]) -> Usage:
        """The usage of exchanges: all calls sent, failures included.

        The cost is unknown if that of any response is.
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
        )

    @property
    def bill(self) -> str:
        """The cost in words."""
        if self.cost is None:
            return "cost unknown"
        return f"cost {'at most ' if self.estimated else ''}${self.cost:,.2f}"


@dataclass(frozen=True, slots=True)
class Face:
    """One face and the groups a detector perceives in it, by attribute.

    An attribute whose class is none of the checklist's groups is omitted. ``confidence`` is the detector's
    probability of each perceived group; ``box`` is x, y, width and height in pixels. ``shares`` are the
    probabilities of all groups, by attribute, from detectors whose probabilities some scores count.
    """

    groups: Mapping[str, str]
    confidence: Mapping[str, float]
    box: tuple[float, float, float, float]
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detection:
    """All faces of one picture, from left to right; ``error`` says why the picture could not be read.

    ``unparsed`` says why a model's reply about the picture cannot be read: a failure of the detector, which
    counts against it where it is compared with people. ``sides`` are the left and the right person, from a
    detector that finds no faces and asks about a picture of two people in other words than about one.
    """

    faces: tuple[Face, ...] = ()
    error: str = ""
    unparsed: str = ""
    sides: tuple[Face, ...] | None = None

    def shown(self, people: int | None) -> tuple[Face, ...]:
        """The faces in a picture that was to show this many people; None is any number."""
        two = people == 2  # noqa: PLR2004 - left and right
        return self.sides if two and self.sides is not None else self.faces
