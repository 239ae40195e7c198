"""Measure shares of answers, such as the share that names a group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.measurement import (
    Component,
    Measurement,
    ValueRange,
)
from pytest_factorfair.domain import CaseGroup
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
