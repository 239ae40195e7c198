"""The scale of what people read: of 100 answers, those that go to the group that a model favours."""

from __future__ import annotations

from typing import NamedTuple

from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import favourite_share
from pytest_factorfair.domain import Score, Summary


class Favourite(NamedTuple):
    """S_E of k groups as a number of 100 answers, with its 95 % interval if it has one."""

    groups: int
    value: float
    low: float | None
    high: float | None

    @property
    def fair(self) -> float:
        """The number of an even choice."""
        return 100 / self.groups

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.0f}"
        return f"{self.value:.0f} ({self.low:.0f}-{self.high:.0f})"


def favourite(summary: Summary, score: Score) -> Favourite | None:
    """A score S_E on the scale of the sentences about it; None without a value."""
    about = score.model, score.checklist, score.part, score.context, score.attribute
    groups = next(
        (
            len(topic.counts)
            for topic in TOPICS.of(summary)
            if (topic.model, topic.checklist, topic.part, topic.context, topic.attribute) == about
        ),
        0,
    )
    if not groups or score.shown is None:
        return None

    def of_hundred(evenness: float | None) -> float | None:
        return None if evenness is None else 100 * favourite_share(evenness, groups)

    return Favourite(
        groups, 100 * favourite_share(score.shown, groups), of_hundred(score.high), of_hundred(score.low)
    )
