"""The rows of FACT-OR-FAIR in report.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_factorfair.domain import Direction, ReportRows


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """The number of answers for each group in a topic, and the numbers of missing answers.

    If answers are probabilities, ``counts`` are sums of the groups' shares, and ``outside`` is the summed
    probability of everything but the letters. ``adjusted`` are the counts corrected for the effect of
    letters; ``covariance`` is that of an answer around the mean of its scenario, in the order of the groups.
    Both are empty if neither letters nor scenarios matter. ``declined`` judgements count as neutral: they are
    part of the counts, and not of ``refused``, of which the provider ``filtered`` some. ``name`` is that of
    the statistic in the checklist's language.
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
    name: str = ""

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


TALLY = ("model", "checklist", "part", "context", "attribute")
TOPIC = (*TALLY, "statistic", "direction")


def _by_group(topic: TopicCounts) -> Iterator[Mapping[str, object]]:
    """A line per group, with its share."""
    for group, count in topic.counts.items():
        yield {
            **{name: getattr(topic, name) for name in (*TOPIC, "truth")},
            "group": group,
            "count": count,
            "share": count / topic.answered if topic.answered else None,
            **{name: getattr(topic, name) for name in ("asked", "refused", "unparsed", "errors")},
        }


TOPICS = ReportRows("topics", TopicCounts, TOPIC, _by_group)
DEPENDENCES = ReportRows("dependences", Dependence, (*TALLY, "condition", "first"))
CORRECTIONS = ReportRows("corrections", Correction, TALLY)
