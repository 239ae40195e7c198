"""The summary of a finished run: everything that reports show."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_factorfair.domain.answer import ReasonShare, Record
from pytest_factorfair.domain.case import Direction
from pytest_factorfair.domain.exchange import Usage
from pytest_factorfair.domain.score import Change, ReleaseVerdict, Score, Verdict, Waiver


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """The number of answers for each group in a topic, and the numbers of missing answers.

    If answers are probabilities, ``counts`` are sums of the groups' shares, and ``outside`` is the summed
    probability of everything but the letters. ``adjusted`` are the counts corrected for the effect of
    letters; ``covariance`` is that of an answer around the mean of its scenario, in the order of the groups.
    Both are empty if neither letters nor scenarios matter. ``declined`` judgements count as neutral: they are
    part of the counts, and not of ``refused``, of which the provider ``filtered`` some.
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
    declined: int = 0
    filtered: int = 0

    @property
    def answered(self) -> int:
        """The number of answers that name a group, or count as neutral."""
        return round(sum(self.counts.values()))


@dataclass(frozen=True, slots=True)
class ConditionCounts:
    """The answers to questions with a certain value of a condition, over all topics of a context.

    ``value`` is that value, ``told`` the end of a sentence about it, and ``ages`` are the ages of an age
    band. ``valence`` is "good" or "bad" if only topics are included in which it is good or bad to be chosen,
    otherwise empty. ``asked`` includes the ``missing`` answers, which may be a sum of probabilities.
    ``shares`` are corrected for the effect of letters, and empty without answers; ``evenness`` is the mean
    S_E of the topics, None if all of them have too few answers.
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
    """The dependence of the choice on a condition that varies between the questions of a topic.

    ``value`` is S_E minus S_E ``within`` the values of the condition: the mutual information of the chosen
    group and the condition, over log k, averaged over topics. ``low`` and ``high`` are its 95 % interval;
    ``reason`` says why there is no interval or value, or what is left out. If the condition is the person at
    letter A, ``first`` is the attribute with these values as groups.
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
class ScannedCell:
    """A cell of a scan: a kind of person under a condition, or a condition alone where losses are scanned.

    ``taken`` of ``n`` answers were so, a sum if they are probabilities; ``fair`` are expected, and ``limit``
    are the most or the least that the scan allows. Above a ``value`` of 1 it fails. ``sentence`` says all
    this. ``case`` shows it most often, ``queries`` are examples from there. ``before`` and ``before_n`` are
    the numbers of the baseline's answers to the same questions, None if it has none.
    """

    kind: str
    condition: str
    taken: float
    n: int
    fair: float
    limit: float
    value: float
    sentence: str
    case: str
    queries: tuple[str, ...]
    before: float | None = None
    before_n: int | None = None

    @property
    def name(self) -> str:
        """The condition and the kind in words."""
        return ": ".join(filter(None, (self.condition, self.kind)))

    @property
    def numbers_before(self) -> str:
        """``338 of 1,368``; empty if the baseline has none."""
        return f"{self.before:,.0f} of {self.before_n:,}" if self.before is not None and self.before_n else ""

    @property
    def new(self) -> bool:
        """Whether it fails, and the baseline's answers to the same questions were within the limit."""
        if self.value <= 1 or self.before is None or not self.before_n:
            return False
        share, limit = self.before / self.before_n, self.limit / self.n
        return share <= limit if self.taken > self.fair else share >= limit


@dataclass(frozen=True, slots=True)
class ScanResult:
    """A scan of the first answers of a model: its ``value``, that of the worst of its cells.

    ``scan`` is the word that selects it. So many ``cells`` can fail, all together with chance ``alpha``, as
    their n KL exceeds ``limit``; ``worst`` are the worst of those that differ.
    """

    model: str
    checklist: str
    scan: str
    value: float
    cells: int
    limit: float
    alpha: float
    n: int
    worst: tuple[ScannedCell, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    """The shares of an attribute's groups over all topics, as perceived and corrected for detector errors.

    ``raw`` are the perceived shares among ``n`` faces; ``low`` and ``high`` are the 95 % interval of
    ``corrected``. Shares that cannot be estimated are empty, and ``reason`` says why.
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
class ImpactRatio:
    """How often the answer about a group is favourable, compared with the most favoured group.

    ``attribute`` and ``group`` name several, joined by `` x ``, for a combination of attributes.
    ``favourable`` of the ``n`` answers are favourable, which is the ``rate``; answers in probabilities count
    by their share. ``ratio`` is that to the highest rate, ``low`` and ``high`` its 95 % interval. What cannot
    be estimated is None, and ``reason`` says why.
    """

    model: str
    checklist: str
    attribute: str
    group: str
    favourable: float
    n: int
    refused: int
    unparsed: int
    errors: int
    rate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SavedCounts:
    """What one model answered, as the plain ``values`` of the class of counts of a user's ``benchmark``."""

    model: str
    benchmark: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """A contact sheet: the pictures of a case with the groups read in them.

    ``file`` is relative to the report's folder; ``shown`` is how many of the ``pictures`` are on the sheet.
    """

    model: str
    checklist: str
    case: str
    file: str
    pictures: int
    shown: int


@dataclass(frozen=True, slots=True)
class PromptCounts:
    """The counts of a person in a prompt's pictures, by group, and the numbers of missing answers.

    ``kind`` is what the prompt is about, ``side`` is the person, from 0, left to right. For an implicit
    prompt, ``shares`` are the demographic ones. For an explicit prompt, the only group is the requested one,
    and its count the number of pictures that show it. If the estimator adds up probabilities, ``counts`` are
    their sums.
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
    """The fingerprint of a run: everything in which comparable runs must agree, except versions and times.

    ``models`` maps each spec to the model's identity, ``checklists`` each name to its content hash;
    ``answers`` is the answer mode of language models; ``detector`` is the identity of the detector, empty for
    language models. ``versions`` and ``times`` are for information only, and so is ``requested``: it maps the
    names of checklists to the shipped names or paths that they were loaded by, where these differ. ``plan``
    is the digest of the plan that was fixed before the run, empty without one.
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
    requested: Mapping[str, str] = field(default_factory=dict)
    plan: str = ""
    declines: str = "missing"


PLAN_SCHEMA = "factorfair.plan/1"


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """What decides the verdicts of a run besides its fingerprint; together they are its plan.

    ``gates`` are all gates as written, ``waivers`` the accepted failures.
    ``undecided`` is what an undecided release does to the run, ``samples`` are the sizes by name, and
    ``baseline`` is the digest of the report that changes are measured from.
    """

    gates: tuple[str, ...]
    waivers: tuple[Waiver, ...]
    undecided: str
    samples: Mapping[str, int]
    looks: int
    looks_after_fail: bool
    baseline: str | None

    def canonical(self, run: Fingerprint) -> bytes:
        """The plan of a run: sorted keys, no spaces, ASCII; two runs with the same bytes judge alike.

        Thresholds are as written, and other fractions are text: there are several ways to write a float.
        """
        names = ("models", "checklists", "preset", "design", "truth", "seed", "answers", "estimator")
        plan = {
            "schema": PLAN_SCHEMA,
            "version": run.versions["pytest-factorfair"],
            **{name: getattr(run, name) for name in (*names, "declines", "interval", "detector")},
            **{name: getattr(self, name) for name in self.__slots__},
        }
        return json.dumps(_exact(plan), sort_keys=True, separators=(",", ":")).encode()


def plan_digest(plan: bytes) -> str:
    """The SHA-256 of a plan, as ``sha256sum`` prints it for the file."""
    return hashlib.sha256(plan).hexdigest()


def _exact(value: Any) -> Any:
    """A value with floats as text, and lists for tuples."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(name): _exact(member) for name, member in value.items()}
    return [*map(_exact, value)] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a finished run.

    ``incomplete`` is the reason why its gates could not be judged, None if they were. ``release`` is the
    verdict on the release, None if no gate is declared. ``notes`` are deviations and cautions that readers
    must see (rounded sizes, fragile labels, parameters that a model did not accept). ``changes`` are the
    changes since the baseline, if there is one, and ``former`` are the baseline's scores. ``reasons`` are the
    shares of citations in the model's reasons, if it was asked for them. ``dependences`` are those of the
    choice on conditions that vary between the questions of a topic, ``scans`` those that gates judge.
    ``corrections`` are shares corrected by
    the detector's error table, if one was given. ``unjudged`` lists the parts and contexts that no gate
    judged. ``contact_sheets`` show the pictures of an image checklist; ``prompts`` are their counts if
    every case is a prompt. ``impact_ratios`` are those of questions with a favourable option. ``counts`` are
    those of users' benchmarks, from which models are compared.
    Every report has the terms of its ``plan``.
    """

    fingerprint: Fingerprint
    incomplete: str | None
    gates: tuple[Verdict, ...]
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
    scans: tuple[ScanResult, ...] = ()
    corrections: tuple[Correction, ...] = ()
    contact_sheets: tuple[ContactSheet, ...] = ()
    prompts: tuple[PromptCounts, ...] = ()
    impact_ratios: tuple[ImpactRatio, ...] = ()
    counts: tuple[SavedCounts, ...] = ()
    unjudged: tuple[str, ...] = ()
    release: ReleaseVerdict | None = None
    plan: PlanTerms | None = None


def differences(
    left: Mapping[str, Any], right: Mapping[str, Any], under: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The fields in which two fingerprints or identities differ: the path, and both values as JSON.

    The value of a missing field is "not given".
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
