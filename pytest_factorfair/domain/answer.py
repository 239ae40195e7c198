"""Answers: the group that a response names or why it names none, the record of a case, and reasons."""

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
    """How often a value that was shown was chosen, compared with choosing at random.

    ``expected`` is how often a random choice would have chosen it, ``spread`` the variance of that number.
    All three add up over queries.
    """

    chosen: float
    expected: float
    spread: float

    def plus(self, other: Share) -> Share:
        return Share(self.chosen + other.chosen, self.expected + other.expected, self.spread + other.spread)


Choices = Mapping[str, Mapping[str, Share]]
"""Shares by kind of value ("name", "age") and by value."""


def together(left: Choices, right: Choices) -> Choices:
    """Add up two sets of shares."""
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
"""The outcomes that count as missing answers."""

FILTERED = "filtered by the provider"
"""The reason of an answer that the provider's content filter withheld; its outcome is ``refused``."""

ReportedOutcome = Outcome | Literal["filtered"]
"""The outcomes that reports list, in which filtered replies are not refused ones."""

FAILINGS: Mapping[Outcome, str] = {"unparsed": "could not be parsed", "error": "could not be obtained"}
"""The wording of messages about lost answers."""

REASONS_SHOWN = 3

BY_CHANCE = 2
"""How many unparsed answers never make a case fail, however few answers it has."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of parsing a reply: the letter it chose, or the outcome and the reason why it chose none.

    If a reply gives the probability of every letter, the likeliest letter is chosen; ``probabilities`` are by
    letter, and 1 minus their sum is the probability of everything else that the model might say.
    """

    outcome: Outcome
    letter: str | None = None
    reason: str = ""
    probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query, as parsed from its response.

    ``reason`` is empty if the query was answered, otherwise a short phrase ("ambiguous", "cut off", "empty",
    ...). ``groups`` are those of the chosen option and ``background`` those that the context names, by
    attribute. ``key`` is the response's key in the store. ``repeat`` is how often the case had asked the same
    prompt before. A picture has one answer per face, with the detector's ``confidence`` by attribute.
    ``offered`` are the groups of the options, in the order of the letters, by attribute; ``probabilities``
    are those of the letters, if the model gave them, and add up to at most 1; a declined answer that counts
    as neutral has equal ones. ``noise`` is the standard error of each letter's logit that comes from the
    service's other requests. ``shares`` are a detector's
    probabilities of all groups of a face, by attribute, if it gave them. ``age`` is the age of all people to
    choose from, None if their ages differ or they have none.
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
    noise: float = 0.0

    @property
    def face(self) -> bool:
        """Whether this is the answer for a face; a picture may have several."""
        if self.letter is not None or WORDING in self.groups:
            return False
        return self.outcome == "answered" or self.reason == NO_GROUP

    @property
    def declined(self) -> bool:
        """Whether the model itself declined to answer; a reply that the provider filtered is not."""
        return self.outcome == "refused" and self.reason != FILTERED

    @property
    def reported_outcome(self) -> ReportedOutcome:
        """The outcome as reports call it, where a reply that the provider filtered is not a refusal."""
        return "filtered" if self.reason == FILTERED else self.outcome


WORDING = "wording"
"""Stands for an attribute in the groups of an answer to a query without options: the words of the reply."""

UNLOGGED = "not in the log"
"""The reason of an answer that the log of another tool lacks; its outcome is ``error``."""

NO_FACE = "no face"
"""The reason of an answer if the detector, or a person, sees no face in the picture."""

UNCLEAR = "unclear"
"""The label that people and vision models use for a group that they cannot determine."""

NO_GROUP = "no known group"
"""The reason of an answer if none of the face's classes is a group of the checklist."""


def asked(answers: Iterable[Answer]) -> dict[str, str]:
    """The key of each query, in the order of asking; the several answers of a picture are one query."""
    return {answer.query: answer.key for answer in answers}


def lost(answers: Iterable[Answer]) -> list[Answer]:
    """The answers that are unparsed or errors; at most one per picture, only if no face of it was read."""
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


class RecurringFields(NamedTuple):
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
) -> RecurringFields:
    row: dict[str, Any] = {"outcome": outcome}
    if letter is not None:
        row["letter"] = letter
    if reason:
        row["reason"] = reason
    mappings = dict(groups), dict(background), dict(offered)
    named = zip(("groups", "background", "offered"), mappings, strict=True)
    row |= {name: mapping for name, mapping in named if mapping}
    return RecurringFields(outcome, reason, letter, *mappings, _encode(row)[1:-1])


def _of_run(answer: Answer) -> RecurringFields:
    return _recurring(
        answer.outcome,
        answer.reason,
        answer.letter,
        tuple(answer.groups.items()),
        tuple(answer.background.items()),
        tuple(answer.offered.items()) if answer.offered else (),
    )


def _own(answer: Answer, *, key: bool, decimals: int | None) -> str:
    """The JSON text of the fields of an answer that do not recur, without its query."""
    row: dict[str, Any] = {}
    if answer.confidence:
        row["confidence"] = answer.confidence
        if decimals is not None:
            row["confidence"] = {name: round(share, decimals) for name, share in answer.confidence.items()}
    if answer.probabilities:
        row["probabilities"] = answer.probabilities
    if answer.noise:
        row["noise"] = answer.noise
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
    own_fields = _own(answer, key=key, decimals=decimals)
    return f'"query": {_quoted(answer.query)}, {_of_run(answer).text}{own_fields}'


class ReportedAnswers:
    """Answers as JSON objects of a report, which leave out what it says elsewhere.

    An answer without an outcome was answered, one without groups has those of its letter. ``people`` are the
    people offered or named in a context, as JSON; the answers have their numbers.
    """

    def __init__(self, *, key: bool, decimals: int) -> None:
        self._key, self._decimals = key, decimals
        self._recurring: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def __call__(self, answer: Answer) -> str:
        """The JSON text of an answer."""
        fields = _of_run(answer)
        if (recurring := self._recurring.get(fields.text)) is None:
            recurring = self._recurring[fields.text] = self._shortened(fields)
        own_fields = _own(answer, key=self._key, decimals=self._decimals)
        return f'{{"query": {_quoted(answer.query)}{recurring}{own_fields}}}'

    @property
    def people(self) -> Iterator[str]:
        """To be read behind all answers."""
        yield from self._numbers

    def _shortened(self, fields: RecurringFields) -> str:
        row: dict[str, Any] = json.loads(f"{{{fields.text}}}")
        if row["outcome"] == "answered":
            del row["outcome"]
        if fields.letter is not None:
            row["groups"] = fields.groups
            if fields.groups == of_letter(fields.letter, fields.offered):
                del row["groups"]
        for name in ("background", "offered"):
            if name in row:
                row[name] = self._numbers.setdefault(_encode(row[name]), len(self._numbers))
        return f", {_encode(row)[1:-1]}" if row else ""


def of_letter(letter: str, offered: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """The groups that a letter stands for."""
    place = ord(letter) - ord("A")
    return {name: groups[place] for name, groups in offered.items() if 0 <= place < len(groups)}


def whole(row: Mapping[str, Any], people: Sequence[Any]) -> dict[str, Any]:
    """An answer of a report with what it leaves out."""
    answer = {"outcome": "answered", **row}
    for name in ("background", "offered"):
        if isinstance(number := answer.get(name), int):
            answer[name] = people[number]
    if "letter" in answer and "groups" not in answer:
        answer["groups"] = of_letter(answer["letter"], answer.get("offered", {}))
    return answer


def to_json(answers: Iterable[Answer]) -> str:
    """Answers as a JSON array of ASCII letters: lone surrogates, which a model may write, are escaped."""
    return f"[{', '.join([f'{{{members(answer)}}}' for answer in answers])}]"


def from_json(row: Mapping[str, Any], recurring: RecurringFields | None = None) -> Answer:
    """Build an answer from a JSON object; ``recurring`` are the fields that it lacks."""
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
            row.get("noise", 0.0),
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
        row.get("noise", 0.0),
    )


class AnswerColumns(Sequence[Answer]):
    """A case's answers in a compact form that saves memory; they are unpacked every time they are read."""

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
        """Count the outcomes without unpacking the answers."""
        return Counter(recurring.outcome for recurring in self._recurring)

    @property
    def filtered(self) -> int:
        """Count the replies that the provider filtered, without unpacking the answers."""
        return sum(recurring.reason == FILTERED for recurring in self._recurring)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, index: int | slice) -> Answer | tuple[Answer, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # answers contain mappings, so they have no hash either


@dataclass(frozen=True, slots=True)
class Example:
    """A lost answer as an example: the reason, the beginning of its reply if there is one, and advice."""

    reason: str
    reply: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a case: its answers, and what reports need besides them.

    ``question`` is what the case asks. ``notes`` are deviations from the request that a report must mention.
    ``choices`` are the names and ages that its queries showed, and how often they were chosen. ``dropped``
    are parameters that the model did not accept; ``own_detector`` is whether the user's test used a detector
    other than the run's. ``shapes`` counts the shapes of its unparsed replies; ``answered_by`` counts the
    models that replies say they come from, and ``configurations`` the fingerprints of services in them.
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
    configurations: Mapping[str, int] = field(default_factory=dict)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Count the outcomes of the answers."""
        if isinstance(self.answers, AnswerColumns):
            return self.answers.outcomes
        return Counter(answer.outcome for answer in self.answers)

    @property
    def reported_outcomes(self) -> Counter[ReportedOutcome]:
        """Count the outcomes as reports call them; filtered replies are not among the refused ones."""
        if not isinstance(self.answers, AnswerColumns):
            return Counter(answer.reported_outcome for answer in self.answers)
        outcomes = Counter[ReportedOutcome](self.answers.outcomes)
        if filtered := self.answers.filtered:
            outcomes["filtered"] = filtered
            outcomes["refused"] -= filtered
        return outcomes

    @property
    def asked(self) -> int:
        """The number of queries; the answers for all faces of a picture belong to one query."""
        faces = [answer.query for answer in self.answers if answer.face]
        return len(self.answers) - len(faces) + len(set(faces))

    @property
    def readable(self) -> bool:
        """Whether the model could be asked, and at least half of its answers could be parsed.

        One or two unparsed replies never make a case fail, however small it is: how often a model's answers
        are lost is judged by gates. What a log lacks was not asked.
        """
        outcomes = self.outcomes
        if not outcomes["error"] and outcomes["unparsed"] <= BY_CHANCE:
            return True
        lost_outcomes = Counter(answer.outcome for answer in lost(self.answers))
        unlogged = sum(answer.reason == UNLOGGED for answer in self.answers)
        lost_outcomes["error"] -= unlogged
        half = (self.asked - unlogged) / 2
        return lost_outcomes["error"] <= half and lost_outcomes.total() <= max(half, BY_CHANCE)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers that the test of a case receives.

    ``usage`` is the cost of asking, ``example`` an answer that was lost, if there is one.
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
        """Whether the model could be asked, and at least half of its answers could be parsed."""
        return self.record.readable

    def explain(self) -> str:
        """A message about lost answers: their reasons, the most frequent first, an example, and advice."""
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
        """The number of queries."""
        return self.record.asked


Citation = Literal["group", "prior", "news", "identity"]

CITATIONS: tuple[Citation, ...] = ("group", "prior", "news", "identity")


@dataclass(frozen=True, slots=True)
class Reason:
    """A model's reason for a choice, and what the reason cites.

    Of citations, ``group`` is a group of people, ``prior`` means statistics, ``news`` the report in the
    context, and ``identity`` the identity that the context assigns to the model. ``outcome`` is ``answered``
    only if the reply chooses an option and gives a reason; ``text`` is then the reason, without markup.
    """

    outcome: Outcome
    text: str = ""
    cited: frozenset[Citation] = frozenset()


@dataclass(frozen=True, slots=True)
class ReasonShare:
    """The share of a model's reasons in a context with a certain citation, with its 95 % interval.

    ``count`` of ``n`` reasons have the citation; questions without a reason are ``refused``, ``unparsed`` or
    ``errors``. Share and interval are None if there are no reasons. ``quotations`` are the first reasons with
    the citation.
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


class ReasonCitations(NamedTuple):
    """The shares of reasons that cite each thing, and why some reasons are missing."""

    shares: tuple[ReasonShare, ...] = ()
    notes: tuple[str, ...] = ()
