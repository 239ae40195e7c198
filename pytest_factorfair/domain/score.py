"""Scores of a model, their changes, and the verdicts of gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain.case import Case

Estimator = Literal["corrected", "plugin", "published-code"]
Interval = Literal["instrument", "scenarios"]

Comparison = Literal[">=", "<="]
Judgement = Literal["passed", "failed", "waived", "inconclusive", "not judged"]

ALL = "all"
"""The attribute of a score over all attributes."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one part, context and attribute.

    ``value`` is the plug-in value, None if there are no answers. ``n`` is the number of answers behind it.
    ``floor`` and ``ceiling`` are the lowest and highest value that the design allows; ``fair_reference`` is
    the expected value of a perfectly fair model at this n. ``corrected`` is the value without its bias,
    ``low`` and ``high`` are its 95 % interval, and ``strength`` is the strength of the equivalent
    stereotype; they are None if they cannot be estimated, and ``reason`` says why.
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
        """The value that reports show: without its bias, if that is known."""
        return self.value if self.corrected is None else self.corrected


@dataclass(frozen=True, slots=True)
class Headline:
    """A model in three numbers (Table 2): objective S_fact, subjective S_fair, and their average.

    ``attribute`` is None for the mean over the attributes; a number is None where a part is missing.
    """

    model: str
    checklist: str
    attribute: str | None
    fact: float | None
    fair: float | None
    average: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a score, or of its part on one statistic or one category of prompts.

    ``statistic`` names that part, None for the whole score. ``before`` and ``after`` are plug-in values;
    ``change`` is the new value minus the old one without bias, with one-sided bounds if there are any.
    ``churn`` is the share of answers that differ from before; ``regressed`` marks a significant change for
    the worse, and ``doubt`` says why none could be claimed. ``plain`` says what a
    regressed score was and is, for a reader who does not know the metric.
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


ReleaseWord = Literal["PASS", "PASS WITH WAIVERS", "FAIL", "UNDECIDED", "NOT JUDGED"]


@dataclass(frozen=True, slots=True)
class ReleaseVerdict:
    """All verdicts of a run in one word.

    PASS: every declared gate was judged and passed, or failed within a waiver. FAIL: a gate failed.
    UNDECIDED: neither. NOT JUDGED: nothing was to be judged, as in a shard. ``counts`` are the numbers behind
    the word, ``advice`` says whether to ship the model and what to do next, and ``fails`` is whether the run
    fails because of it.
    """

    word: ReleaseWord
    counts: str
    advice: str
    fails: bool

    def __str__(self) -> str:
        return f"{self.word}: {self.counts}"


@dataclass(frozen=True, slots=True)
class Gate:
    """A parsed gate expression ``metric[filter,...] op threshold``.

    ``regression`` marks ``regression(metric)``: the change since the baseline. ``text`` is the
    expression as the user wrote it.
    """

    text: str
    metric: str
    filters: tuple[str, ...]
    comparison: Comparison
    threshold: float
    regression: bool = False


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases of a checklist that belong together: their ids, and what selects them after pytest's ``-k``."""

    checklist: str
    ids: tuple[str, ...]
    select: str

    @classmethod
    def of(cls, case: Case) -> CaseGroup:
        """A single case."""
        return cls(case.checklist, (case.id,), case.id)


@dataclass(frozen=True, slots=True)
class Mover:
    """A topic that moves a score: its name and what was answered there, in words.

    ``reply`` is what typical answers name: a group, a letter, or an outcome.
    """

    topic: str
    share: str
    cases: CaseGroup
    reply: str


@dataclass(frozen=True, slots=True)
class Illustration:
    """A question, and the replies to it with how they were read, the most frequent first."""

    question: str
    replies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a verdict means, for readers who do not know the metric.

    ``sentence`` is the score beside its limit, in plain words; ``movers`` are the topics that move it most,
    ``example`` is a question of the first of them, ``next_step`` is what to do about the verdict. A gate
    that passed has only the sentence.
    """

    sentence: str
    movers: tuple[Mover, ...] = ()
    example: Illustration | None = None
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a gate on one score of a model.

    ``subject`` names the score, ``name`` is unique in the run, ``words`` are the filters that identify the
    score; ``model`` is empty if the gate selects no score.
    ``low`` and ``high`` are the one-sided bounds behind it, None if the value itself was judged. A waived
    verdict failed while a waiver was in force.
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
