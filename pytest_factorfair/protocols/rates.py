"""Shares of answers, and the rates of refused, unparsed and errored answers, which all benchmarks have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pytest_factorfair.domain import Better, Outcome
from pytest_factorfair.protocols.measurement import Cell, Changed, Component, Extremes, Former, Measurement
from pytest_factorfair.protocols.metric import Metric
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.estimate import PSEUDO, Estimate, by_cluster, error_of_share, share_of


class TopicShare(NamedTuple):
    """How many of a topic's answers count towards a share: ``counted`` of ``n``, and ``missing`` more might.

    ``cases`` selects the topic's cases by id, and ``lost`` is the share of its answers that are lost. Topics
    of one ``cluster`` may be answered alike; without clusters, all answers are independent.
    """

    name: str
    cases: str
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
        """What is counted, as it follows a number: ``refused``."""

    @property
    @abstractmethod
    def topics(self) -> Sequence[TopicShare]:
        """Every topic, asked or not."""

    @abstractmethod
    def earlier(self, former: Former) -> ShareScore | None:
        """The baseline's share of the same topics, if it has one."""

    @cached_property
    def estimate(self) -> Estimate:
        count, n, clusters = _columns(self.topics)
        if clusters is None or not n.sum():
            return share_of(int(count.sum()), int(n.sum()))
        share, influence = _influence(count, n)
        spread = float((count * (1 - share) ** 2 + (n - count) * share**2).sum())
        least_variance = (spread + PSEUDO * (share**2 + (1 - share) ** 2)) / (n.sum() + 2 * PSEUDO) ** 2
        return by_cluster(share, influence, clusters, n > 0, int(n.sum()), least_variance)

    def less(self, other: ShareScore) -> Estimate:
        """Its difference from another share; by cluster over the topics that both were asked."""
        if any(topic.cluster is None for topic in self.topics):
            return self.estimate.less(other.estimate)
        others = {topic.cases: topic for topic in other.topics if topic.n}
        common = [topic for topic in self.topics if topic.n and topic.cases in others]
        count, n, clusters = _columns(common)
        other_count, other_n, _ = _columns([others[topic.cases] for topic in common])
        fewest = int(min(n.sum(), other_n.sum()))
        if clusters is None or not fewest:
            return Estimate(None, None, None, fewest, "no such question was asked in both")
        (share, influence), (other_share, other_influence) = (
            _influence(count, n),
            _influence(other_count, other_n),
        )
        moved = influence - other_influence
        least_variance = float((moved**2).sum()) + PSEUDO / (fewest + 2 * PSEUDO) ** 2
        return by_cluster(share - other_share, moved, clusters, n > 0, fewest, least_variance)

    def change_from(self, former: Former) -> Changed | None:
        old = self.earlier(former)
        return None if old is None else Changed(self, old, self.less(old))

    def if_missing(self, *, bounded: bool) -> Extremes | None:
        """With no missing answer counted, and with all of them."""
        value = self.estimate.plugin
        if value is None:
            return None
        count, asked = sum(topic.counted for topic in self.topics), self.total.asked
        missing = sum(topic.missing for topic in self.topics)
        return Extremes(value, count / asked, (count + missing) / asked)

    @property
    def reach(self) -> tuple[float, float]:
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
        """That of independent answers; by cluster, as if all topics of one were answered alike."""
        clusters = {topic.cluster for topic in self.topics}
        if not clusters:
            return None
        return error_of_share(threshold, n * len(self.topics) if None in clusters else len(clusters))


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rate(Metric):
    """The share of everything asked that had this ``outcome``."""

    better: Better = "lower"
    outcome: Outcome

    def lost(self, cell: Cell) -> int:
        """The number of a cell's answers with the outcome."""
        lost: int = getattr(cell, LOST_FIELDS[self.outcome])
        return lost

    def topic(self, name: str, cases: str, cell: Cell, *, cluster: int | None = None) -> TopicShare:
        """A topic's share. An error could have been any outcome, unless errors are what is counted."""
        missing = cell.errors if self.missing == "counted" else 0
        return TopicShare(name, cases, self.lost(cell), cell.asked, missing, cell.share, cluster)


LOST_FIELDS: Mapping[Outcome, str] = {"refused": "refused", "unparsed": "unparsed", "error": "errors"}
"""The number of each outcome in a cell; also the headings of these numbers."""


class RateScore(ShareScore):
    """A rate of one model."""

    metric: Rate

    @property
    def counted(self) -> str:
        return self.metric.outcome


def rates(*, pictures: bool = False) -> dict[str, Rate]:
    """The rates by name, for questions that are answered in text or for prompts that ask for ``pictures``."""
    asked, answer = ("prompts", "picture") if pictures else ("questions", "answer")
    declared = (
        Rate(
            name="refusal_rate",
            label="refusal rate",
            question=f"how many {asked} are refused?",
            missing="counted",
            plain=f"it refuses {{amount}} of 100 {asked}",
            virtue="seldom refuses",
            reading=f"the share of {asked} that were refused",
            outcome="refused",
        ),
        Rate(
            name="unparsed_rate",
            label="unparsed rate",
            question=(
                "how many pictures do not show as many people as asked for, or none with a known group?"
                if pictures
                else "how many answers cannot be read?"
            ),
            missing="counted",
            plain=(
                "{amount} of 100 pictures cannot be read"
                if pictures
                else "it replies without a choice to {amount} of 100 questions"
            ),
            virtue="shows as many people as asked for" if pictures else "answers in the format",
            reading=f"the share of {answer}s that could not be read",
            outcome="unparsed",
        ),
        Rate(
            name="error_rate",
            label="error rate",
            question=f"how many {asked} get no {answer}?",
            missing="all counted",
            plain=f"{{amount}} of 100 {asked} end in an error",
            virtue="answers without errors",
            reading=f"the share of {asked} that ended in an error",
            outcome="error",
        ),
    )
    return {rate.name: rate for rate in declared}
