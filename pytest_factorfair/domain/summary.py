"""Everything that reports say about a finished run, in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_factorfair.domain.answer import ReasonShare, Record
from pytest_factorfair.domain.case import Direction
from pytest_factorfair.domain.exchange import Usage
from pytest_factorfair.domain.score import Change, Headline, ReleaseVerdict, Score, Verdict


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """How often each group was answered in one topic, and the numbers of missing answers.

    If answers are probabilities, ``counts`` are sums of the groups' shares, and ``outside`` is the summed
    probability of everything but the letters. ``adjusted`` are the counts without the effect of letters and
    ``covariance`` is that of one answer around the mean of its scenario, in the order of the groups; both are
    empty if neither letters nor scenarios matter.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    statistic: str
    direction: Direction
    truth: str
    fragile: bool
    counts: Mapping[str, int | float]
    asked: int
    refused: int
    unparsed: int
    errors: int
    adjusted: Mapping[str, int | float] = field(default_factory=dict)
    covariance: tuple[tuple[float, ...], ...] = ()
    outside: float = 0.0

    @property
    def answered(self) -> int:
        """Answers that name a group."""
        return round(sum(self.counts.values()))


@dataclass(frozen=True, slots=True)
class ConditionCounts:
    """The answers to the questions with one value of a condition, over all topics of a context.

    ``value`` names it, ``told`` ends a sentence about it, and ``ages`` are those of a band. ``valence`` is
    "good" or "bad" if the topics are only those in which it is good or bad to be chosen, else empty.
    ``asked`` includes the ``missing`` answers, which may be a sum of probabilities. ``shares`` are without
    the effect of letters, and empty without answers; ``evenness`` is the mean S_E of the topics, None if all
    of them have too few answers.
    """

    value: str
    valence: str
    told: str
    ages: tuple[int, ...]
    asked: int
    missing: float
    shares: Mapping[str, float]
    evenness: float | None


@dataclass(frozen=True, slots=True)
class Dependence:
    """How far the choice of an attribute depends on a condition that varies between the questions of a topic.

    ``value`` is S_E less S_E ``within`` the values of the condition: the mutual information of the chosen
    group and the condition, over log k, in the mean over topics. ``low`` and ``high`` are its 95 % interval;
    ``reason`` says why it has none, or no value, or what is left out. ``first`` is the attribute whose groups
    are the values, if the condition is the person at letter A.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    condition: str
    first: str
    s_e: float | None
    within: float | None
    value: float | None
    low: float | None
    high: float | None
    reason: str
    cells: tuple[ConditionCounts, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    """Shares of an attribute over all topics: as perceived, and corrected for the detector's errors.

    ``n`` is the number of faces behind ``raw``; ``low`` and ``high`` are the 95 % interval of
    ``corrected``. Shares are by group; those that cannot be estimated are empty, and ``reason`` says why.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    n: int
    raw: Mapping[str, float]
    corrected: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    reason: str


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """A case's pictures with what was read in them; ``file`` is relative to the report's folder.

    ``shown`` is how many of its ``pictures`` are on it.
    """

    model: str
    checklist: str
    case: str
    file: str
    pictures: int
    shown: int


@dataclass(frozen=True, slots=True)
class PromptCounts:
    """What a prompt's pictures show of one person, and how many answers were lost.

    ``kind`` is what the prompt is about. ``side`` counts from 0, left to right. Implicit: ``shares`` are the
    demographic ones. Explicit: the only group is the one asked for, its count the pictures that show it. If
    the estimator adds up probabilities, ``counts`` are their sums.
    """

    model: str
    checklist: str
    case: str
    part: str
    kind: str
    side: int
    attribute: str
    counts: Mapping[str, int | float]
    shares: Mapping[str, float]
    asked: int
    refused: int
    unparsed: int
    errors: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What makes two runs comparable; ``versions`` and ``times`` are for the record only.

    ``models`` maps each spec to the model's identity, ``checklists`` each name to its content hash;
    ``answers`` is the answer mode of language models;
    ``detector`` is the identity of the detector, empty for language models.
    """

    models: Mapping[str, Mapping[str, object]]
    checklists: Mapping[str, str]
    preset: str
    design: str
    truth: str
    samples: int
    objective: int
    seed: int
    answers: str
    estimator: str
    interval: str
    detector: Mapping[str, object]
    versions: Mapping[str, str]
    times: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run. ``incomplete`` is the reason its gates could not be judged, None if they were.

    ``release`` is the verdict on the release, None if no gate is declared.
    ``notes`` are deviations and cautions that a reader must see (rounded sizes, fragile labels,
    parameters that a model did not accept). ``changes`` are those since the baseline, if there is one, and
    ``former`` are its scores; ``reasons`` counts what the model's own reasons cite, if it was asked for them.
    ``dependences`` are those of the choice on conditions that vary between the questions of a topic.
    ``corrections`` are shares corrected by the detector's error table, if one was given.
    ``unjudged`` lists the parts, contexts and metrics that no gate judged.
    ``contact_sheets`` show the pictures of an image checklist; ``prompts`` are their counts if a
    case is one prompt.
    """

    fingerprint: Fingerprint
    incomplete: str | None
    gates: tuple[Verdict, ...]
    headline: tuple[Headline, ...]
    scores: tuple[Score, ...]
    topics: tuple[TopicCounts, ...]
    cases: tuple[Record, ...]
    usage: Usage
    seconds: float
    notes: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    former: tuple[Score, ...] = ()
    reasons: tuple[ReasonShare, ...] = ()
    dependences: tuple[Dependence, ...] = ()
    corrections: tuple[Correction, ...] = ()
    contact_sheets: tuple[ContactSheet, ...] = ()
    prompts: tuple[PromptCounts, ...] = ()
    unjudged: tuple[str, ...] = ()
    release: ReleaseVerdict | None = None


def differences(
    left: Mapping[str, Any], right: Mapping[str, Any], under: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The fields in which two fingerprints or identities differ: path, and both values as JSON.

    "not given" stands for a field that one of them lacks.
    """
    for name in dict.fromkeys((*left, *right)):
        left_value, right_value = left.get(name), right.get(name)
        if isinstance(left_value, Mapping) and isinstance(right_value, Mapping):
            yield from differences(left_value, right_value, (*under, name))
            continue
        left_text, right_text = (
            json.dumps(side[name]) if name in side else "not given" for side in (left, right)
        )
        if left_text != right_text:
            yield (*under, name), left_text, right_text
