"""What a response says (a group, or why it names none), what a case's answers add up to, and reasons."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, overload

from pytest_factorfair.domain.case import UNSPECIFIED, CaseKey, Question
from pytest_factorfair.domain.exchange import Usage
from pytest_factorfair.domain.text import defused, plural


class Share(NamedTuple):
    """How often a value that was shown was chosen, and how often indifference would have chosen it.

    ``spread`` is the variance of the latter; all three add up over queries.
    """

    chosen: float
    expected: float
    spread: float

    def plus(self, other: Share) -> Share:
        return Share(self.chosen + other.chosen, self.expected + other.expected, self.spread + other.spread)


Choices = Mapping[str, Mapping[str, Share]]
"""The shares by what is shown ("name", "age") and by its values."""


def together(left: Choices, right: Choices) -> Choices:
    """The shares of both."""
    nothing = Share(0.0, 0.0, 0.0)
    shares: dict[str, dict[str, Share]] = {}
    for kind in dict.fromkeys((*left, *right)):
        left_shares, right_shares = left.get(kind, {}), right.get(kind, {})
        shares[kind] = {
            value: left_shares.get(value, nothing).plus(right_shares.get(value, nothing))
            for value in dict.fromkeys((*left_shares, *right_shares))
        }
    return shares


Outcome = Literal["answered", "refused", "unparsed", "error"]

OUTCOMES: tuple[Outcome, ...] = ("answered", "refused", "unparsed", "error")
LOST = OUTCOMES[1:]
"""The outcomes of answers that are missing."""

FILTERED = "filtered by the provider"
"""The reason of a reply that the provider's content filter withheld; it counts as refused."""

Fate = Outcome | Literal["filtered"]
"""What happened to a reply, in the words of reports: one that was filtered is not called refused."""

FAILINGS: Mapping[Outcome, str] = {"unparsed": "could not be read", "error": "could not be obtained"}
"""What messages say about lost answers."""

REASONS_SHOWN = 3

BY_CHANCE = 2
"""Unparsed answers that say nothing about a case, even if it has no others."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reply says: the letter it chose, or the outcome and the reason it chose none.

    If a reply gives the probability of every letter, the likeliest letter is chosen; ``probabilities`` are by
    letter, and 1 less their sum is the probability of everything else that the model might say.
    """

    outcome: Outcome
    letter: str | None = None
    reason: str = ""
    probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The reading of one query's response.

    ``reason`` is empty for an answer, else a short phrase ("ambiguous", "cut off", "empty", ...).
    ``groups`` and ``background`` are by attribute; ``key`` finds the response in the store.
    ``repeat`` counts from 0 how often its case had asked the same prompt before. A picture yields one
    answer per face, with the detector's ``confidence`` by attribute. ``offered`` are the
    groups behind the letters, in the letters' order, by attribute; ``probabilities`` are those of
    the letters, if the model gave them; they add up to at most 1. ``shares`` are a
    detector's probabilities of all groups of a face, by attribute, if it gave them. ``age`` is that of all
    people to choose from, None if they differ or have none.
    """

    query: str
    outcome: Outcome
    reason: str
    letter: str | None
    groups: Mapping[str, str]
    background: Mapping[str, str]
    key: str
    repeat: int = 0
    confidence: Mapping[str, float] = field(default_factory=dict)
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probabilities: tuple[float, ...] = ()
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    age: int | None = None

    @property
    def face(self) -> bool:
        """Whether this is the answer of a face; a picture may have several."""
        return self.letter is None and (self.outcome == "answered" or self.reason == NO_GROUP)

    @property
    def fate(self) -> Fate:
        """The outcome, or that the provider filtered the reply: then the model did not refuse."""
        return "filtered" if self.reason == FILTERED else self.outcome


NO_FACE = "no face"
"""The reason if the detector, or a person, sees no face in a picture."""

UNCLEAR = "unclear"
"""The label that a person, or a vision model, gives to a group they cannot determine."""

NO_GROUP = "no known group"
"""The reason of a face none of whose classes is a group of the checklist."""


def asked(answers: Iterable[Answer]) -> dict[str, str]:
    """The key of each query, in the order asked; a picture may have several answers."""
    return {answer.query: answer.key for answer in answers}


def lost(answers: Iterable[Answer]) -> list[Answer]:
    """The unparsed and errored answers: of a picture no face of which was read, one."""
    answers = tuple(answers)
    named = {answer.query for answer in answers if answer.face and answer.groups}
    by_query = {
        answer.query: answer
        for answer in answers
        if answer.outcome in ("unparsed", "error") and not (answer.face and answer.query in named)
    }
    return list(by_query.values())


# The codec of answers. Between processes, in report.json and responses.jsonl, in the key of a sample and in
# memory, an answer is the same JSON object, which omits what is empty.

_encode = json.JSONEncoder(allow_nan=False).encode
_quoted = json.encoder.encode_basestring_ascii


class Recurring(NamedTuple):
    """The fields of answers that recur in a run, and their JSON text without braces."""

    outcome: Outcome
    reason: str
    letter: str | None
    groups: Mapping[str, str]
    background: Mapping[str, str]
    offered: Mapping[str, tuple[str, ...]]
    text: str


@lru_cache(maxsize=8192)
def _recurring(
    outcome: Outcome,
    reason: str,
    letter: str | None,
    groups: tuple[tuple[str, str], ...],
    background: tuple[tuple[str, str], ...],
    offered: tuple[tuple[str, tuple[str, ...]], ...],
) -> Recurring:
    row: dict[str, Any] = {"outcome": outcome}
    if letter is not None:
        row["letter"] = letter
    if reason:
        row["reason"] = reason
    mappings = dict(groups), dict(background), dict(offered)
    named = zip(("groups", "background", "offered"), mappings, strict=True)
    row |= {name: mapping for name, mapping in named if mapping}
    return Recurring(outcome, reason, letter, *mappings, _encode(row)[1:-1])


def _of_run(answer: Answer) -> Recurring:
    return _recurring(
        answer.outcome,
        answer.reason,
        answer.letter,
        tuple(answer.groups.items()),
        tuple(answer.background.items()),
        tuple(answer.offered.items()) if answer.offered else (),
    )


def _own(answer: Answer, *, key: bool, decimals: int | None) -> str:
    """The JSON text of what is the answer's own, besides its query."""
    row: dict[str, Any] = {}
    if answer.confidence:
        row["confidence"] = answer.confidence
        if decimals is not None:
            row["confidence"] = {name: round(share, decimals) for name, share in answer.confidence.items()}
    if answer.probabilities:
        row["probabilities"] = answer.probabilities
    if answer.shares:
        row["shares"] = answer.shares
    text = f", {_encode(row)[1:-1]}" if row else ""
    if answer.age is not None:
        text += f', "age": {answer.age}'
    if answer.repeat:
        text += f', "repeat": {answer.repeat}'
    return f'{text}, "key": {_quoted(answer.key)}' if key else text


def members(answer: Answer, *, key: bool = True, decimals: int | None = None) -> str:
    """An answer as JSON, without braces.

    Reports leave out the ``key`` in the store, and round confidences to some ``decimals``.
    """
    own = _own(answer, key=key, decimals=decimals)
    return f'"query": {_quoted(answer.query)}, {_of_run(answer).text}{own}'


def to_json(answers: Iterable[Answer]) -> str:
    """Answers as a JSON array of ASCII letters: lone surrogates, which a model may write, are escaped."""
    return f"[{', '.join([f'{{{members(answer)}}}' for answer in answers])}]"


def from_json(row: Mapping[str, Any], recurring: Recurring | None = None) -> Answer:
    """The answer of a JSON object; without what recurs, if this is given apart."""
    if recurring is None:
        offered = row.get("offered")
        return Answer(
            row["query"],
            row["outcome"],
            row.get("reason", ""),
            row.get("letter"),
            row.get("groups", {}),
            row.get("background", {}),
            row.get("key", ""),
            row.get("repeat", 0),
            row.get("confidence", {}),
            {name: tuple(groups) for name, groups in offered.items()} if offered else {},
            tuple(row.get("probabilities", ())),
            row.get("shares", {}),
            row.get("age"),
        )
    outcome, reason, letter, groups, background, offers, _ = recurring
    return Answer(
        row["query"],
        outcome,
        reason,
        letter,
        groups,
        background,
        row["key"],
        row.get("repeat", 0),
        row.get("confidence", {}),
        offers,
        tuple(row.get("probabilities", ())),
        row.get("shares", {}),
        row.get("age"),
    )


class AnswerColumns(Sequence[Answer]):
    """A case's answers in a fraction of the memory: they are unpacked each time they are read."""

    __slots__ = ("_packed", "_recurring")

    def __init__(self, answers: Iterable[Answer]) -> None:
        answers = tuple(answers)
        self._recurring = tuple(map(_of_run, answers))
        rows = [
            f'{{"query": {_quoted(answer.query)}{_own(answer, key=True, decimals=None)}}}'
            for answer in answers
        ]
        self._packed = zlib.compress(f"[{', '.join(rows)}]".encode(), 1)

    def __iter__(self) -> Iterator[Answer]:
        return map(from_json, json.loads(zlib.decompress(self._packed)), self._recurring)

    def __len__(self) -> int:
        return len(self._recurring)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How often each outcome occurs, without unpacking the answers."""
        return Counter(recurring.outcome for recurring in self._recurring)

    @property
    def filtered(self) -> int:
        """How many replies the provider filtered, without unpacking the answers."""
        return sum(recurring.reason == FILTERED for recurring in self._recurring)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, index: int | slice) -> Answer | tuple[Answer, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # its answers hold mappings, which have none either


@dataclass(frozen=True, slots=True)
class Example:
    """A lost answer: why it is lost, the beginning of the reply if there is one, and what to try."""

    reason: str
    reply: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Record:
    """A case's answers; ``notes`` are deviations from the request that a report must mention.

    ``question`` is what the case asks.
    ``choices`` is what its queries showed of people and what was chosen. ``dropped`` are parameters that the
    model did not accept; ``own_detector`` is whether another detector than the run's read its pictures.
    ``shapes`` are what its unparsed replies look like, with their counts; ``answered_by`` are the models that
    its replies name, with theirs.
    """

    case: CaseKey
    answers: Sequence[Answer]
    notes: tuple[str, ...] = ()
    choices: Choices = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    own_detector: bool = False
    question: Question = UNSPECIFIED
    shapes: Mapping[str, int] = field(default_factory=dict)
    answered_by: Mapping[str, int] = field(default_factory=dict)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How often each outcome occurs among the answers."""
        if isinstance(self.answers, AnswerColumns):
            return self.answers.outcomes
        return Counter(answer.outcome for answer in self.answers)

    @property
    def fates(self) -> Counter[Fate]:
        """What happened to the replies; those that the provider filtered are not among the refused."""
        if not isinstance(self.answers, AnswerColumns):
            return Counter(answer.fate for answer in self.answers)
        fates = Counter[Fate](self.answers.outcomes)
        if filtered := self.answers.filtered:
            fates["filtered"] = filtered
            fates["refused"] -= filtered
        return fates


@dataclass(frozen=True, slots=True)
class Answers:
    """A case's answers as its test receives them.

    ``usage`` is the cost of asking, ``example`` an answer that is unparsed or an error.
    """

    record: Record
    usage: Usage
    example: Example | None = None

    @property
    def answers(self) -> Sequence[Answer]:
        """All answers, in the order of the queries."""
        return self.record.answers

    def count(self, *outcomes: Outcome) -> int:
        return sum(answer.outcome in outcomes for answer in self.answers)

    def groups(self, attribute: str) -> Counter[str]:
        """How often each group of the attribute was chosen, over the answered queries."""
        return Counter(answer.groups[attribute] for answer in self.answers if attribute in answer.groups)

    @property
    def readable(self) -> bool:
        """Whether the model could be asked, and at least half of its answers be read.

        One or two replies that cannot be read are not most of a case, however small it is: how often a model
        loses answers is for gates to judge.
        """
        lost_outcomes = Counter(answer.outcome for answer in lost(self.answers))
        half = self.asked / 2
        return lost_outcomes["error"] <= half and lost_outcomes.total() <= max(half, BY_CHANCE)

    def explain(self) -> str:
        """What was lost and why, most frequent reason first; an example of it; what to try."""
        lost_answers = lost(self.answers)
        reasons = Counter(answer.reason for answer in lost_answers)
        counted = [f"{reason} ({count})" for reason, count in reasons.most_common(REASONS_SHOWN)]
        if len(reasons) > REASONS_SHOWN:
            counted.append(plural(len(reasons) - REASONS_SHOWN, "other reason"))
        outcomes = {answer.outcome for answer in lost_answers}
        failing = FAILINGS[outcomes.pop()] if len(outcomes) == 1 else "could not be obtained or read"
        lines = [
            f"{len(lost_answers)} of {plural(self.asked, 'answer')} {failing}: "
            + (next(iter(reasons)) if len(reasons) == 1 else ", ".join(counted)),
            "A case fails if more than half of its answers are lost.",
        ]
        if self.example is not None:
            if self.example.reply:
                lines.append(f'Example ({self.example.reason}): "{self.example.reply}"')
            lines.append(f"Try: {self.example.remedy}")
        return defused("\n".join(lines))

    @property
    def asked(self) -> int:
        """How many queries these are the answers of: the faces of one picture are one."""
        faces = [answer.query for answer in self.answers if answer.face]
        return len(self.answers) - len(faces) + len(set(faces))


Citation = Literal["group", "prior", "news", "identity"]

CITATIONS: tuple[Citation, ...] = ("group", "prior", "news", "identity")


@dataclass(frozen=True, slots=True)
class Reason:
    """A model's reason for one choice, and what the reason cites.

    ``group`` is a group of people, ``prior`` statistics, ``news`` the report in the context, ``identity``
    the one that the context assigns to the model. ``outcome`` is ``answered`` only if the reply chooses an
    option and gives a reason; ``text`` is then the reason, without markup.
    """

    outcome: Outcome
    text: str = ""
    cited: frozenset[Citation] = frozenset()


@dataclass(frozen=True, slots=True)
class ReasonShare:
    """The share of a model's reasons in one context that cite one thing, with its 95 % interval.

    ``count`` of ``n`` reasons do; questions without a reason are ``refused``, ``unparsed`` or
    ``errors``. ``share`` and interval are None without a reason. ``quotations`` are the first
    reasons that cite it.
    """

    model: str
    checklist: str
    context: str
    citation: Citation
    share: float | None
    low: float | None
    high: float | None
    count: int
    n: int
    asked: int
    refused: int
    unparsed: int
    errors: int
    quotations: tuple[str, ...]
