"""The scores of models, their changes, and the verdicts of gates."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_factorfair.domain.answer import Answer
from pytest_factorfair.domain.case import Case

Estimator = Literal["corrected", "plugin", "published-code"]
Interval = Literal["instrument", "scenarios"]

Better = Literal["higher", "lower", "neither"]
"""The better end of a metric."""

Comparison = Literal[">=", "<="]
Judgement = Literal["passed", "failed", "waived", "inconclusive", "not judged"]

ALL = "all"
"""The attribute of a score over all attributes."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a model: the value of a metric in a part, context and attribute.

    ``value`` is the plug-in value, None if there are no answers; it is based on ``n`` answers. ``floor`` and
    ``ceiling`` are the lowest and highest value that the design allows; ``fair_reference`` is the expected
    value of a perfectly fair model with this n. ``corrected`` is the bias-corrected value, ``low`` and
    ``high`` are its 95 % interval, and ``strength`` is the strength of the equivalent stereotype; they are
    None if they cannot be estimated, and ``reason`` says why.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    value: float | None
    n: int
    floor: float | None = None
    ceiling: float | None = None
    corrected: float | None = None
    low: float | None = None
    high: float | None = None
    fair_reference: float | None = None
    strength: float | None = None
    reason: str = ""

    @property
    def shown(self) -> float | None:
        """The value that reports show: bias-corrected if possible."""
        return self.value if self.corrected is None else self.corrected


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a score since the baseline, in whole or for one statistic or category of prompts.

    ``statistic`` is the id of that statistic or category, None for the whole score, and ``title`` its name
    in the language of the checklist. ``before`` and ``after`` are the values that reports show; ``change``
    is the bias-corrected difference, new minus old, with one-sided bounds if there are any. ``churn`` is the
    share of answers that differ from before; ``regressed`` marks a significant change for the worse, and
    ``doubt`` says why none could be claimed. ``plain`` describes a regressed score before and after for
    readers who do not know the metric.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    statistic: str | None
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    churn: float
    n: int
    regressed: bool = False
    doubt: str = ""
    plain: str = ""
    title: str = ""


ReleaseWord = Literal["PASS", "PASS WITH WAIVERS", "FAIL", "UNDECIDED", "NOT JUDGED"]


MOSTLY = 0.5
"""The share of declined judgements from which nothing is said about how a model judges."""


class Declining(NamedTuple):
    """How many judgements a model declined as neutral, their share, and a sentence about all of them."""

    model: str
    number: int
    share: float
    sentence: str

    @property
    def mostly(self) -> bool:
        """Whether it declined so many that the scores say little about how it judges."""
        return self.share >= MOSTLY


@dataclass(frozen=True, slots=True)
class ReleaseVerdict:
    """The verdict on a release, which sums up all verdicts of a run in one word.

    PASS: every declared gate was judged, and passed or is waived. FAIL: a gate failed.
    UNDECIDED: neither. NOT JUDGED: there was nothing to judge, as in a shard. ``counts`` are the numbers of
    verdicts as text, ``advice`` says whether to ship the model and why, ``next_step`` what to do about it:
    a command, or a sentence without its full stop. ``fails`` is whether the run fails because of it.
    ``look`` is a sentence on how to look at what a model does not say that declined most judgements.
    """

    word: ReleaseWord
    counts: str
    advice: str
    fails: bool
    next_step: str = ""
    look: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.counts}"


@dataclass(frozen=True, slots=True)
class Gate:
    """A parsed gate expression ``metric[filter,...] op threshold``.

    ``regression`` is whether it is ``regression(metric)``, on the change since the baseline. ``text`` is the
    expression as the user wrote it.
    """

    text: str
    metric: str
    filters: tuple[str, ...]
    comparison: Comparison
    threshold: float
    regression: bool = False

    @property
    def meaning(self) -> Hashable:
        """What it has in common with other spellings of it: words in any order, numbers in any form."""
        return self.metric, frozenset(self.filters), self.comparison, self.threshold, self.regression

    def subject(self, words: Iterable[str]) -> str:
        """The metric with the words of a score: ``regression(s_e)[base,race]``."""
        metric = f"regression({self.metric})" if self.regression else self.metric
        joined = ",".join(words)
        return f"{metric}[{joined}]" if joined else metric


class Waiver(NamedTuple):
    """A gate that need not pass: ``gate`` is an expression, or a verdict's name or subject.

    ``until`` is an ISO date, and ``floor`` is the threshold that the score must still pass; for a ``<=`` gate
    it is an upper limit.
    """

    gate: str
    reason: str
    until: str
    floor: float

    def expired(self, today: str) -> bool:
        """Whether its last day is over on this ISO date."""
        return self.until < today


def expired(waivers: Iterable[Waiver], today: str) -> Iterator[str]:
    """A line for each waiver that is no longer in force on this ISO date."""
    for waiver in waivers:
        if waiver.expired(today):
            yield f"the waiver for '{waiver.gate}' expired on {waiver.until}"


_OPERATOR = re.compile(r"[<>=!≤≥]+")
_SCORE = re.compile(
    r"(?:(?P<change>regression)\s*\(\s*(?P<inner>[^()\[\]]*?)\s*\)|(?P<metric>[^()\[\]]*?))"
    r"\s*(?:\[(?P<filters>[^\[\]]*)\])?"
)


class GateParts(NamedTuple):
    """The parts of a gate expression as text; without an operator, all of it is the score."""

    score: str
    operator: str
    threshold: str


def gate_parts(expression: str) -> GateParts:
    """Split a gate expression at its operator, without checking what it selects."""
    # A model among the filters may contain an equals sign, so the operator is searched after them.
    operator = _OPERATOR.search(expression, expression.rfind("]") + 1)
    if operator is None:
        return GateParts(expression.strip(), "", "")
    before, behind = expression[: operator.start()], expression[operator.end() :]
    return GateParts(before.strip(), operator[0], behind.strip())


class Selection(NamedTuple):
    """The scores that a gate selects: their metric, their filters, and whether it is about their changes."""

    metric: str
    filters: tuple[str, ...]
    regression: bool


def selection(score: str) -> Selection | None:
    """Parse ``metric[filter,...]`` or ``regression(metric)[filter,...]``; None for any other text."""
    match = _SCORE.fullmatch(score)
    if match is None:
        return None
    inside = match["filters"]
    filters = tuple(word.strip() for word in inside.split(",")) if inside is not None else ()
    return Selection(match["inner"] if match["change"] else match["metric"], filters, bool(match["change"]))


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases of a checklist that belong together: their ids, and the beginning of ids that selects them."""

    checklist: str
    ids: tuple[str, ...]
    select: str

    @classmethod
    def of(cls, case: Case) -> CaseGroup:
        """A single case."""
        return cls(case.checklist, (case.id,), case.id)


@dataclass(frozen=True, slots=True)
class QuestionCondition:
    """A condition that all answers behind a score meet; what is empty may have any value.

    ``named`` is the group of ``attribute`` that the context names, ``first`` that of the first person to
    choose from, ``chosen`` any group of the person chosen; ``ages`` are those that all people to choose from
    may have. ``queries`` are the ids of examples.
    """

    attribute: str = ""
    named: str = ""
    first: str = ""
    chosen: str = ""
    ages: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()

    def met_by(self, answer: Answer) -> bool:
        """Whether an answer meets the condition."""
        return (
            self.named in ("", answer.background.get(self.attribute))
            and (not self.first or answer.offered.get(self.attribute, ())[:1] == (self.first,))
            and (not self.chosen or self.chosen in answer.groups.values())
            and (not self.ages or answer.age in self.ages)
            and (not self.queries or answer.query in self.queries)
        )


@dataclass(frozen=True, slots=True)
class InfluentialTopic:
    """A topic with a large influence on a score: its name, and its answers in words.

    ``reply`` is what typical answers name: a group, a letter, or an outcome; empty for any. ``condition`` is
    met by the questions that count.
    """

    topic: str
    share: str
    cases: CaseGroup
    reply: str
    condition: QuestionCondition = QuestionCondition()


@dataclass(frozen=True, slots=True)
class Illustration:
    """A question as an example, with replies to it and how they were parsed, the most frequent first.

    ``gist`` is that of its case.
    """

    question: str
    replies: tuple[str, ...]
    gist: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a verdict for readers who do not know the metric.

    ``sentence`` compares the score with its limit in plain words; ``movers`` are the topics with the most
    influence, ``ranked`` unless all of them have the same value. ``example`` is a question from the first of
    them, ``next_step`` is what to do about the verdict. A gate that passed has only the sentence.
    """

    sentence: str
    movers: tuple[InfluentialTopic, ...] = ()
    example: Illustration | None = None
    next_step: str = ""
    ranked: bool = True

    @property
    def clauses(self) -> tuple[str, ...]:
        """What was observed, and what is fair if the sentence says it: OBSERVED; [FAIR, ]LIMIT. [REMARKS]."""
        observed, semicolon, expected = self.sentence.rpartition("; ")
        if not semicolon:
            return ()
        fair = expected.partition(". ")[0].rpartition(", ")[0]
        return (f"{observed[:1].lower()}{observed[1:]}", *filter(None, (fair,)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a gate on a score of a model.

    ``subject`` names the score, with the limit if several gates judge it; ``name`` is unique in the run,
    ``words`` are the filters that identify the score, and ``about`` its answers in words; ``model`` is empty
    if the gate selects no score. ``low`` and ``high`` are the one-sided bounds that were judged, None if the
    value itself was judged. A verdict is waived if the gate failed or was inconclusive, and a waiver covers
    that. ``cause`` is a clause that is the same for all verdicts with this cause, such as too few answers;
    empty if the verdict is about the score itself.
    """

    gate: str
    name: str
    subject: str
    judgement: Judgement
    value: float | None
    threshold: float
    n: int
    reason: str
    low: float | None = None
    high: float | None = None
    model: str = ""
    explanation: Explanation | None = None
    words: tuple[str, ...] = ()
    about: str = ""
    cause: str = ""
