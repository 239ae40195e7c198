"""The rates of refused, unparsed and errored answers, which all shipped benchmarks have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_factorfair.benchmarks.measurement import Cell
from pytest_factorfair.benchmarks.measuring import Expression
from pytest_factorfair.benchmarks.metric import InWords, Metric
from pytest_factorfair.benchmarks.share import ShareScore, TopicShare
from pytest_factorfair.domain import Better, Case, CaseGroup, ReportedOutcome
from pytest_factorfair.statistics.arrays import IntArray

PERCENT = " %"


def of_all(count: int, total: int) -> str:
    """``none of 48``, ``all 24``, ``35 of 408``."""
    if not count:
        return f"none of {total:,}"
    return f"all {total:,}" if count == total else f"{count:,} of {total:,}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rate(Metric):
    """The share of everything asked that had this ``outcome``; ``plain`` has ``{count}`` for their number."""

    better: Better = "lower"
    outcome: ReportedOutcome

    def lost(self, cell: Cell) -> int:
        """The number of a cell's answers with the outcome."""
        lost: int = getattr(cell, LOST_FIELDS[self.outcome])
        return lost + cell.declined if self.outcome == "refused" else lost

    def topic(self, name: str, cases: CaseGroup, cell: Cell, *, cluster: int | None = None) -> TopicShare:
        """The share of a topic; an error could have had any outcome, unless errors are counted."""
        missing = cell.errors if self.missing == "counted" else 0
        return TopicShare(name, cases, self.lost(cell), cell.asked, missing, cell.share, cluster)


LOST_FIELDS: Mapping[ReportedOutcome, str] = {
    "refused": "refused",
    "filtered": "filtered",
    "unparsed": "unparsed",
    "error": "errors",
}
"""The number of each outcome in a cell; also the headings of these numbers."""


class RateScore(ShareScore):
    """A rate of one model."""

    metric: Rate

    @property
    def counted(self) -> str:
        return self.metric.outcome

    def of_cases(
        self, cases: Sequence[Case], cells: Iterable[Cell], clusters: IntArray
    ) -> Sequence[TopicShare]:
        """The share of each case, whose answers are those of its cell; ``clusters`` is (cases,)."""
        return [
            self.metric.topic(case.title, CaseGroup.of(case), cell, cluster=cluster)
            for case, cell, cluster in zip(cases, cells, clusters.tolist(), strict=True)
        ]

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        amount, asked = f"{100 * value:.{digits}f}", self.total.asked
        sentence = self.metric.plain.format(count=of_all(round(value * asked), asked))
        return InWords(
            sentence, amount, past=f"{self.metric.past.format(amount=amount)}{PERCENT}", unit=PERCENT
        )


RateT = TypeVar("RateT", bound=Rate)


def rates(declare: type[RateT], *, pictures: bool = False) -> dict[str, RateT]:
    """The rates by name, for questions that are answered in text or for prompts that ask for ``pictures``.

    ``declare`` is the benchmark's own class of rates.
    """
    asked, answer = ("prompts", "picture") if pictures else ("questions", "answer")
    declared = (
        declare(
            name="refusal_rate",
            label="refusal rate",
            question=f"how many {asked} are refused?",
            missing="counted",
            plain=f"it refused {{count}} {asked}",
            virtue="seldom refuses",
            reading=f"the share of {asked} that were refused",
            outcome="refused",
        ),
        declare(
            name="unparsed_rate",
            label="unparsed rate",
            question=(
                "how many pictures do not show as many people as asked for, or none with a known group?"
                if pictures
                else "how many answers cannot be read?"
            ),
            missing="counted",
            plain=(
                "{count} pictures cannot be read"
                if pictures
                else "its replies to {count} questions could not be parsed"
            ),
            virtue="answers in the format",
            reading=f"the share of {answer}s that could not be parsed",
            outcome="unparsed",
        ),
        declare(
            name="error_rate",
            label="error rate",
            question=f"how many {asked} get no {answer}?",
            missing="all counted",
            plain=f"{{count}} {asked} ended in an error",
            virtue="answers without errors",
            reading=f"the share of {asked} that ended in an error",
            outcome="error",
        ),
    )
    return {rate.name: rate for rate in declared}


FILTERED = "filtered_rate"


def filtered_rate(declare: type[RateT]) -> dict[str, RateT]:
    """The part of the refusal rate that is not the model's own doing, by name."""
    rate = declare(
        name=FILTERED,
        label="filtered rate",
        question="how many replies does the provider withhold?",
        missing="counted",
        plain="the provider filtered its replies to {count} questions",
        virtue="is not filtered by its provider",
        reading="the share of questions whose replies the provider filtered",
        outcome="filtered",
    )
    return {rate.name: rate}


MOST_LOST = 0.05


def few_lost(rates: Iterable[str]) -> Iterator[Expression]:
    """Recommended gates that allow few lost answers."""
    for rate in rates:
        yield Expression(rate, (), f"<= {MOST_LOST:.2f}")
