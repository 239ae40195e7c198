"""The records of a run by case, as they arrive, and the reason if some are missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Literal

from pytest_factorfair.domain import AnswerColumns, CaseKey, Ceilings, Record, Usage
from pytest_factorfair.errors import TO_DO


@dataclass(frozen=True, slots=True)
class IncompleteRun:
    """Why no gate can be judged.

    ``left out``: the run finished without some of its cases. ``interrupted``: it did not finish. ``too
    small``: it is complete, at a size that only allows a report. ``shard``: all cases of the shard are
    recorded. ``submitted``: answers are in batches. ``brief`` is short enough for each gate, ``why`` is for
    the run, and ``remedy`` is what to do.
    """

    kind: Literal["left out", "interrupted", "too small", "shard", "submitted"]
    brief: str
    why: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        return f"{self.brief}: {self.why}" if self.why else self.brief

    @property
    def partial(self) -> bool:
        return self.kind != "too small"


RESUME = "run it again to continue: stored answers are not asked again"
"""What to do about a run that ended early."""


def ended(reason: str, ceilings: Ceilings) -> tuple[str, str]:
    """The problem that ended a run, and what to do about it, in the reason of an error or a limit."""
    problem, _, remedy = reason.partition(TO_DO)
    if limit := ceilings.exhausted(problem):
        remedy = f"raise --factorfair-max-{limit}"
    return problem.rstrip("."), f"{remedy}, then {RESUME}" if remedy else RESUME


PLAIN = 50_000
"""Answers that are kept as objects; beyond this number, memory matters more than the time to rebuild them."""


class Ledger:
    """The expected cases, which of them are selected, their records and their usage.

    A case may be reported more than once (``--dist=each``, reruns, a user's own test of the same case): the
    last record counts. Once there are ``plain`` answers, further ones are kept by column.
    """

    def __init__(self, expected: Iterable[CaseKey], *, plain: int = PLAIN) -> None:
        self._plain = plain
        self._answers = 0
        self._expected = dict.fromkeys(expected)
        self._records: dict[CaseKey, Record] = {}
        self.usage = Usage()
        self.selected: frozenset[CaseKey] | None = None
        """The cases that will be asked, once that is known."""

    def add(self, record: Record) -> None:
        self._answers += len(record.answers)
        if self._answers > self._plain:
            record = replace(record, answers=AnswerColumns(record.answers))
        self._records[record.case] = record

    def spend(self, usage: Usage) -> None:
        """Add the usage that an item reports (see ``plugin.keys.ItemResult``)."""
        self.usage += usage

    def select(self, cases: Iterable[CaseKey]) -> None:
        """Note the cases that will be asked."""
        self.selected = frozenset(cases)

    def record(self, case: CaseKey) -> Record | None:
        return self._records.get(case)

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of expected cases, in the order of the plan."""
        return tuple(self._records[case] for case in self._expected if case in self._records)

    @property
    def expected(self) -> int:
        return len(self._expected)

    @property
    def missing(self) -> int:
        return sum(case not in self._records for case in self._expected)


class StartTime:
    """When a run started, by the calendar and by a monotonic clock."""

    def __init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Start now instead."""
        self.at = datetime.now(UTC)
        self._clock = monotonic()

    @property
    def seconds(self) -> float:
        return monotonic() - self._clock
