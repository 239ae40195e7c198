"""Cases that failed alike: the terminal shows the first of them, and their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Hashable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_factorfair.domain import Outcome, Record, lost, plural

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter  # pytest has no public name for its writer

GROUPS = 10
"""Kinds of failure shown; errors with unique numbers would give as many kinds as cases."""

STATS = ("error", "failed")
"""The keys under which the terminal reporter keeps its sections ERRORS and FAILURES."""


class Loss(NamedTuple):
    """Why most of a case's lost answers are lost."""

    outcome: Outcome
    reason: str


class AlikeFailures:
    """Groups failed cases by their cause, and has the terminal print each group once.

    Every case keeps its own report: exit code, counts, JUnit and other reports are complete. pytest has no
    hook for its sections ERRORS and FAILURES and its short summary: a wrapper of ``pytest_terminal_summary``
    around all other plugins prints them from lists of the reporter. So our outermost wrapper replaces these
    lists by shorter ones, and ``complete``, the innermost, restores them while other plugins print.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Hashable] = {}
        self._lists: dict[str, list[pytest.TestReport]] = {}
        self.complete = Complete(self)

    def add(self, report: pytest.TestReport, record: Record | None, *, shipped: bool) -> None:
        """Note a failed report of a case, with its record.

        Failures of the shipped check are alike if most answers are lost for the same reason, others if they
        print the same.
        """
        reasons = Counter(
            Loss(answer.outcome, answer.reason) for answer in lost(record.answers if record else ())
        )
        kind: Hashable = report.longreprtext
        if shipped and reasons:
            ((kind, _),) = reasons.most_common(1)
        self._kinds[report.nodeid] = kind

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        stats = terminalreporter.stats
        self._lists = {name: self._shown(stats[name]) for name in STATS if name in stats}
        self.exchange(stats)
        try:
            return (yield)
        finally:
            self.exchange(stats)

    def exchange(self, stats: dict[str, list[pytest.TestReport]]) -> None:
        """Swap the complete lists and the short ones."""
        for name, reports in self._lists.items():
            stats[name], self._lists[name] = reports, stats[name]

    def _shown(self, reports: Iterable[pytest.TestReport]) -> list[pytest.TestReport]:
        """One report per group, in the place of its first; reports of other tests unchanged."""
        groups: dict[Hashable, list[pytest.TestReport]] = {}
        kinds: set[Hashable] = set()
        for report in reports:
            kind = self._kinds.get(report.nodeid)
            if kind is None:
                groups[report] = [report]
                continue
            if len(kinds) < GROUPS:
                kinds.add(kind)
            groups.setdefault(kind if kind in kinds else None, []).append(report)
        return [_merged(group, kind) if len(group) > 1 else group[0] for kind, group in groups.items()]


class Complete:
    """The innermost wrapper: other plugins find the complete lists."""

    def __init__(self, failures: AlikeFailures) -> None:
        self._failures = failures

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        self._failures.exchange(terminalreporter.stats)
        try:
            return (yield)
        finally:
            self._failures.exchange(terminalreporter.stats)


def _merged(group: list[pytest.TestReport], kind: Hashable) -> pytest.TestReport:
    """The first report under a name that counts the group; a kind of None stands for all further kinds."""
    merged = copy(group[0])
    path, line, name = merged.location
    other_cases = plural(len(group) - 1, "other case" if kind is None else "more case")
    merged.location = path, line, f"{name} and {other_cases}"
    # Reports of workers print a line about their node, and this report stands for several.
    merged.__dict__.pop("node", None)
    merged.nodeid = f"{merged.nodeid.partition('[')[0]}[{plural(len(group), 'case')}]"
    if isinstance(kind, Loss):
        shown: Any = Lost(group[0], Crash(kind.reason))  # pytest uses its methods, whatever its type
        merged.longrepr = shown
    return merged


@dataclass(frozen=True, slots=True)
class Crash:
    """The message that pytest prints in its short summary."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The first failure of a group as pytest prints it."""

    report: pytest.TestReport
    reprcrash: Crash

    def __str__(self) -> str:
        return self.report.longreprtext

    def toterminal(self, writer: TerminalWriter) -> None:
        self.report.toterminal(writer)
