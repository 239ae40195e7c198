"""Measure shares of answers, such as the share that names a group."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.measurement import (
    BaselineCounts,
    Cell,
    Component,
    Measurement,
    TopicKey,
    ValueRange,
)
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.domain import LOST, Answer, Case, CaseGroup, CaseKey, Checklist, Record
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.estimate import (
    Estimate,
    by_cluster,
    difference_by_cluster,
    error_of_mean,
    least_variance,
    share_of,
)


class TopicShare(NamedTuple):
    """How many of a topic's answers count towards a share: ``counted`` of ``n``, and ``missing`` more might.

    ``lost`` is the share of its answers that are lost. Topics of one ``cluster``
    may be answered alike; without clusters, all answers are independent.
    """

    name: str
    cases: CaseGroup
    counted: int
    n: int
    missing: int
    lost: float
    cluster: int | None = None


class ShareScore(Measurement):
    """A share of the answers to some topics, with Wilson's bounds or, if topics have clusters, by cluster."""

    @property
    @abstractmethod
    def counted(self) -> str:
        """The word for what is counted, as it follows a number: ``refused``."""

    @property
    @abstractmethod
    def topics(self) -> Sequence[TopicShare]:
        """Every topic, asked or not."""

    @cached_property
    def estimate(self) -> Estimate:
        count, n, clusters = _columns(self.topics)
        if self.total.asked and not n.sum():
            return Estimate(None, None, None, 0, "no question was answered")
        if clusters is None or not n.sum():
            return share_of(int(count.sum()), int(n.sum()))
        share, influence = _influence(count, n)
        spread = float((count * (1 - share) ** 2 + (n - count) * share**2).sum())
        floor = least_variance(spread, share, int(n.sum()))
        asked = n > 0
        return by_cluster(share, influence[asked], clusters[asked], int(n.sum()), floor, self.possible_range)

    def minus(self, other: ShareScore) -> Estimate:
        """The difference from another share; with clusters, over the topics that both were asked."""
        if any(topic.cluster is None for topic in self.topics):
            return self.estimate.less(other.estimate)
        other_topics = {topic.cases: topic for topic in other.topics if topic.n}
        common = [topic for topic in self.topics if topic.n and topic.cases in other_topics]
        count, n, clusters = _columns(common)
        other_count, other_n, _ = _columns([other_topics[topic.cases] for topic in common])
        fewest = int(min(n.sum(), other_n.sum()))
        if clusters is None or not fewest:
            return Estimate(None, None, None, fewest, "no such question was asked in both")
        (share, influence), (other_share, other_influence) = (
            _influence(count, n),
            _influence(other_count, other_n),
        )
        moved = influence - other_influence
        return difference_by_cluster(share - other_share, moved, clusters, n > 0, fewest)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        """The range from no missing answer counted to all of them counted."""
        value = self.estimate.plugin
        if value is None:
            return None
        count, asked = sum(topic.counted for topic in self.topics), self.total.asked
        missing = sum(topic.missing for topic in self.topics)
        return ValueRange(value, count / asked, (count + missing) / asked)

    @property
    def possible_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def components(self) -> Sequence[Component]:
        """The share of each topic that was asked."""
        return [
            Component(
                topic.name,
                topic.counted / topic.n,
                f"{topic.counted} of {topic.n} {self.counted}",
                topic.cases,
                self.counted,
                topic.lost,
            )
            for topic in self.topics
            if topic.n
        ]

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The error of independent answers; with clusters, as if all topics of one were answered alike."""
        clusters = {topic.cluster for topic in self.topics}
        if not clusters:
            return None
        return error_of_mean(threshold, n * len(self.topics) if None in clusters else len(clusters))


def _columns(topics: Sequence[TopicShare]) -> tuple[IntArray, IntArray, IntArray | None]:
    """The counts, the numbers of answers and the clusters of topics, if they have any; each (topics,)."""
    count = np.array([topic.counted for topic in topics], np.int64)
    n = np.array([topic.n for topic in topics], np.int64)
    clusters = [topic.cluster for topic in topics if topic.cluster is not None]
    return count, n, np.array(clusters, np.int64) if clusters else None


def _influence(count: IntArray, n: IntArray) -> tuple[float, FloatArray]:
    """A share, and the influence of each topic on it, (topics,)."""
    share = float(count.sum() / n.sum())
    return share, np.asarray((count - share * n) / n.sum())


class CaseCounts(NamedTuple):
    """The answers to one case: the groups named, and the numbers of queries asked and lost."""

    groups: Mapping[str, int]
    asked: int
    refused: int
    unparsed: int
    errors: int

    @classmethod
    def of(cls, answers: Sequence[Answer], attribute: str) -> CaseCounts:
        """Count the groups of an attribute that answers name."""
        outcomes = Counter(answer.outcome for answer in answers)
        groups = Counter(answer.groups[attribute] for answer in answers if attribute in answer.groups)
        return cls(groups, len(answers), *(outcomes[outcome] for outcome in LOST))

    @property
    def answered(self) -> int:
        return sum(self.groups.values())


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """How often one model's answers about a checklist name each group of an attribute, by case."""

    benchmark: str
    model: str
    checklist: str
    part: str
    attribute: str
    cases: Mapping[str, CaseCounts]

    @classmethod
    def of(
        cls,
        records: Iterable[Record],
        checklist: Checklist,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        attribute: str,
    ) -> tuple[GroupCounts, ...]:
        """Count the answers to these cases, which are of one part, model by model."""
        answers = {record.case: record.answers for record in records}
        counted = []
        for model in models if cases else ():
            keys = {case.id: CaseKey(model, checklist.name, case.id) for case in cases}
            by_case = {id_: CaseCounts.of(answers.get(key, ()), attribute) for id_, key in keys.items()}
            counted.append(cls(checklist.protocol, model, checklist.name, cases[0].part, attribute, by_case))
        return tuple(counted)

    @property
    def comparison_key(self) -> ScoreKey:
        return ScoreKey(self.checklist, self.part, None, self.attribute)

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        return {"model": frozenset({self.model}), "checklist": frozenset({self.checklist})}

    @property
    def total(self) -> CaseCounts:
        """The sum over all cases."""
        groups = Counter[str]()
        for counts in self.cases.values():
            groups.update(counts.groups)
        numbers = (counts[1:] for counts in self.cases.values())
        return CaseCounts(groups, *(sum(column) for column in zip(*numbers, strict=True)))


class Share(ShareScore):
    """The share of a model's answers that name a group, with bounds that lost answers can move."""

    def __init__(self, metric: Metric, counts: GroupCounts, group: str) -> None:
        self.metric = metric
        self.model = counts.model
        self.words = (counts.checklist,)
        self.counts = counts
        self.group = group

    @property
    def score_key(self) -> ScoreKey:
        return self.counts.comparison_key

    @property
    def counted(self) -> str:
        return self.group

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each case; any lost answer might have named the group."""
        return [
            TopicShare(
                case,
                CaseGroup(self.counts.checklist, (case,), case),
                counts.groups.get(self.group, 0),
                counts.answered,
                counts.asked - counts.answered,
                1 - counts.answered / counts.asked if counts.asked else 0.0,
            )
            for case, counts in self.counts.cases.items()
        ]

    @property
    def cells(self) -> tuple[Cell, ...]:
        cases = (TopicKey(self.model, self.counts.checklist, (case,)) for case in self.counts.cases)
        return (Cell(self.counts.part, *self.counts.total[1:], topic_keys=frozenset(cases)),)

    @property
    def components(self) -> Sequence[Component]:
        """The share of each case that was asked."""
        components = []
        for topic, counts in zip(self.topics, self.counts.cases.values(), strict=True):
            if counts.asked:
                share = topic.counted / max(topic.n, 1)
                reply = max(counts.groups, key=lambda group: counts.groups[group], default="refused")
                text = f"{self.group} {share:.0%}"
                components.append(Component(topic.name, share, text, topic.cases, reply, topic.lost))
        return components

    def earlier(self, baseline: BaselineCounts) -> Share | None:
        old = baseline.like(self.counts)
        return None if old is None else Share(self.metric, old, self.group)

    def asks(self, case: Case) -> int:
        """The number of all cases, which share its answers."""
        counted = case.checklist == self.counts.checklist and case.id in self.counts.cases
        return len(self.counts.cases) if counted else 0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        del regression
        return error_of_mean(threshold, n)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self.counts.part, self.counts.attribute

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.counts.comparison_key)})
