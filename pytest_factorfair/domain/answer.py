"""What a response says: a group, or why it names none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_factorfair.domain.case import CaseKey
from pytest_factorfair.domain.choices import Choices
from pytest_factorfair.domain.usage import Usage

Outcome = Literal["answered", "refused", "unread", "error"]

OUTCOMES: tuple[Outcome, ...] = ("answered", "refused", "unread", "error")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reply says: the letter it chose, or the outcome and the reason it chose none."""

    outcome: Outcome
    letter: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reading of one query's response.

    ``reason`` is empty for an answer, else a short phrase ("ambiguous", "cut off", "empty", ...).
    ``groups`` and ``background`` are by attribute; ``key`` finds the response in the store.
    ``repeat`` counts from 0 how often its case had asked the same prompt before. A picture gives an
    answer for each of its faces, with the detector's ``confidence`` by attribute.
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


def asked(answers: Iterable[Answer]) -> dict[str, str]:
    """The keys of what was asked by query, in the order asked: a picture may have several answers."""
    return {answer.query: answer.key for answer in answers}


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers of one case, in the order of its queries.

    ``allowed`` is the share of unread and errored answers the case may have; the rest is as in a record.
    """

    case: CaseKey
    answers: tuple[Answer, ...]
    usage: Usage
    allowed: float
    notes: tuple[str, ...] = ()
    choices: Choices = field(default_factory=dict)

    def count(self, *outcomes: Outcome) -> int:
        return sum(answer.outcome in outcomes for answer in self.answers)

    def groups(self, attribute: str) -> Counter[str]:
        """How often each group of the attribute was chosen, over the answered queries."""
        return Counter(answer.groups[attribute] for answer in self.answers if attribute in answer.groups)

    @property
    def readable(self) -> bool:
        """Whether the share of unread and errored answers is within what is allowed."""
        return self.count("unread", "error") <= self.allowed * len(self.answers)

    def explain(self) -> str:
        """One line: how many answers could not be had, and the reasons, most frequent first."""
        reasons = Counter(answer.reason for answer in self.answers if answer.outcome in ("unread", "error"))
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        lost = sum(reasons.values())
        return f"{lost} of {len(self.answers)} answers could not be had ({told}); allowed: {self.allowed:.0%}"
