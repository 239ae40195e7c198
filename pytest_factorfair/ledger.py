"""The records of a run as they arrive, by case: adding one twice changes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_factorfair.domain import CaseKey, Record, Usage


class Ledger:
    """What was expected and what has been recorded.

    A case may be reported more than once (``--dist=each``, reruns, a test of the user's own over
    the same case): the last record counts.
    """

    def __init__(self, expected: Iterable[CaseKey]) -> None:
        self._expected = dict.fromkeys(expected)
        self._records: dict[CaseKey, Record] = {}
        self._usage = Usage()

    def add(self, record: Record) -> None:
        self._records[record.case] = record

    def spend(self, usage: Usage) -> None:
        """Add what one item found in the store, and what it asked if that is on no account of the run."""
        self._usage += usage

    def expect(self, cases: Iterable[CaseKey]) -> None:
        """Count on these cases only."""
        wanted = set(cases)
        self._expected = {case: None for case in self._expected if case in wanted}

    def record(self, case: CaseKey) -> Record | None:
        return self._records.get(case)

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def records(self) -> tuple[Record, ...]:
        """Records in the order of the plan, whatever order they came in; others are left out."""
        return tuple(self._records[case] for case in self._expected if case in self._records)

    @property
    def expected(self) -> int:
        return len(self._expected)

    @property
    def missing(self) -> int:
        return sum(case not in self._records for case in self._expected)
