"""Our tests in pytest's own summary: cases that fail for one cause are one entry.

Gates have none, nor has what ended the run: our section explains both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.domain import FAILINGS, defused, excerpt, lost, plural
from pytest_factorfair.plugin.collection import SHIPPED

if TYPE_CHECKING:
    from pytest_factorfair.domain import Record

FULL = 10
"""Causes that reports have in full: errors with unique numbers would have as many causes as cases."""

ENTRIES = 3
"""Causes with an entry of their own."""

CAUSE = 120
"""Characters of a cause in pytest's short summary."""


class Digest:
    """Shortens what pytest prints about our failures, unless it is asked to be verbose.

    While pytest prints its summary, ``terminalreporter.stats`` has one report per cause and none of those
    that our section explains. Other plugins, and pytest's counts, see every report.
    """

    def __init__(self) -> None:
        self.gates: frozenset[str] = frozenset()
        self.end = ""
        """Why the run ended early, as our section says; empty if it did not."""
        self.ended: dict[str, str] = {}
        """The errors that ended the asking of a process, by the test that met it."""
        self._reasons: dict[tuple[str, str | None], str] = {}
        self._causes: dict[tuple[str, str | None], str] = {}
        self._full = set[str]()
        self._stats: dict[str, list[Any]] = {}
        self._replaced: dict[str, list[Any]] = {}

    def shorten(self, report: pytest.TestReport, record: Record | None) -> None:
        """Note the cause of a failed case; all but the first report of a cause are cut to one line.

        The cause is the most frequent reason for lost answers or, if none is lost, the exception.
        """
        reasons = Counter(
            (answer.outcome, answer.reason) for answer in lost(record.answers if record else ())
        )
        crash = getattr(report.longrepr, "reprcrash", None)
        text = str(report.longrepr if reasons or crash is None else crash)
        cause = text
        if reasons:
            ((outcome, reason), _), *_ = reasons.most_common(1)
            self._reasons[report.nodeid, report.when] = reason
            cause = f"answers {FAILINGS[outcome]}: {reason}"
        self._causes[report.nodeid, report.when] = cause
        if cause not in self._full and len(self._full) < FULL:
            self._full.add(cause)
        else:
            report.longrepr = next(iter(text.strip().splitlines()), "")

    def explains(self, report: pytest.TestReport) -> bool:
        """Whether our section explains a report: a gate, or what ended the run."""
        if report.nodeid in self.gates:
            return True
        if not self.end or report.nodeid in self.ended:
            return bool(self.end)
        reason = self._reasons.get((report.nodeid, report.when), "")
        return bool(reason) and reason in self.end

    @contextmanager
    def shown(self, reporter: pytest.TerminalReporter) -> Generator[None]:
        """Replace our reports while pytest prints its summary."""
        if reporter.verbosity <= 0:
            self._stats = reporter.stats
            self._replaced = {
                category: [*self._entries(reporter.stats[category])]
                for category in ("failed", "error", "skipped")
                if category in reporter.stats
            }
        with self._swapped():
            yield

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_terminal_summary(self) -> Generator[None]:
        """Restore the reports for other plugins, whose summaries run inside pytest's."""
        with self._swapped():
            return (yield)

    @contextmanager
    def _swapped(self) -> Generator[None]:
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for category, reports in self._replaced.items():
            self._replaced[category], self._stats[category] = self._stats[category], reports

    def _entries(self, reports: Iterable[pytest.TestReport]) -> Iterator[pytest.TestReport]:
        """The reports of other tests, then one for each of the most frequent causes, and one for the rest."""
        by_cause: dict[str, list[pytest.TestReport]] = {}
        for report in reports:
            cause = self._causes.get((report.nodeid, report.when))
            if self.explains(report):
                continue
            if cause is not None:
                by_cause.setdefault(cause, []).append(report)
            else:
                yield report
        ordered = sorted(by_cause.items(), key=lambda entry: -len(entry[1]))
        for cause, same_cause in ordered[:ENTRIES]:
            yield _entry(same_cause, plural(len(same_cause), "case"), cause)
        if further_reports := [report for _, same_cause in ordered[ENTRIES:] for report in same_cause]:
            other_causes = plural(len(ordered) - ENTRIES, "other cause")
            yield _entry(
                further_reports,
                plural(len(further_reports), "more case"),
                f"{other_causes}, all shown with -v",
            )


def _entry(reports: list[pytest.TestReport], count: str, cause: str) -> pytest.TestReport:
    """A report in place of several: the first, with their number and cause in its name."""
    first_report = reports[0]
    if len(reports) == 1:
        return first_report
    path, line, name = first_report.location
    return pytest.TestReport(
        nodeid=f"{SHIPPED}::{count}: {defused(excerpt(cause, CAUSE))}, for example {name}",
        location=(path, line, f"{count}, for example {name}"),
        keywords=first_report.keywords,
        outcome=first_report.outcome,
        longrepr=first_report.longrepr,
        when=first_report.when,
        sections=first_report.sections,
    )
