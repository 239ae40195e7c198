"""The terminal section: verdicts first, then a table per attribute, then costs and paths of reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Summary
from pytest_factorfair.gates.release import release
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.statements import (
    SIGNS,
    detector_lines,
    usage_line,
    verdict_lines,
    warnings,
)
from pytest_factorfair.reports.table import Table, as_lines
from pytest_factorfair.reports.tables import all_tables, changes_text, headlines

if TYPE_CHECKING:
    import pytest

    from pytest_factorfair.session.conclusion import Result

COLORS = {"passed": "green", "failed": "red"}
"""Other verdicts are yellow."""

LONG = 40
"""Reasons of scores with longer names are not aligned with the others."""


def terminal(
    reporter: pytest.TerminalReporter, result: Result, *, fails: bool, alarms: tuple[str, ...]
) -> None:
    """Write the section; a person should be able to read it in ten seconds.

    ``fails`` is whether the run fails, ``alarms`` say what fails it besides gates.
    """
    summary = result.summary
    reporter.write_sep("=", escaping.terminal(f"factorfair: {', '.join(summary.fingerprint.models)}"))
    for warning in warnings(summary):
        _line(reporter, f"warning: {warning}", yellow=True, bold=True)
    if summary.incomplete:
        _line(reporter, f"Not judged: {summary.incomplete}.", yellow=True)
    _verdicts(reporter, summary, fails=fails)
    if summary.changes:
        for line in (*changes_text(summary.changes).splitlines(), ""):
            _line(reporter, line)
    answered = any(answer.outcome == "answered" for record in summary.cases for answer in record.answers)
    for table in all_tables(summary) if answered else ():  # without an answer all cells are dashes
        _table(reporter, table)
    for line in headlines(summary):
        _line(reporter, line)
    for note in (*detector_lines(summary), *summary.notes):
        _line(reporter, f"note: {note}")
    reporter.write_line(usage_line(summary))
    if result.written:
        kept = f"partial report (the complete one in {_place(result.kept)} is kept)" if result.kept else ""
        label = kept or "report"
        page_first = sorted(result.written, key=lambda path: not path.endswith(".html"))
        _line(reporter, f"{label}: {', '.join(map(_place, page_first))}")
    for alarm in alarms:
        _line(reporter, alarm, red=True)


def _place(path: str) -> str:
    """Relative to the current directory where it lies below it."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _line(reporter: pytest.TerminalReporter, text: str, **markup: bool) -> None:
    """Write a line that may hold text from outside."""
    reporter.write_line(escaping.terminal(text), **markup)


def _verdicts(reporter: pytest.TerminalReporter, summary: Summary, *, fails: bool) -> None:
    if not summary.gates:
        return
    told = release(summary.gates, summary.unjudged)
    if fails and not any(verdict.judgement == "failed" for verdict in summary.gates):
        told += "; the run fails"
    reporter.write_line(f"release: {told}", bold=True)
    # Where no gate is judged, the line above has the reason of all.
    unjudged = summary.incomplete and all(verdict.judgement == "not judged" for verdict in summary.gates)
    lines = () if unjudged else verdict_lines(summary.gates)
    width = max((len(line.subject) for line in lines if len(line.subject) <= LONG), default=0)
    for line in lines:
        sign = SIGNS[line.judgement].ljust(12)
        reporter.write(sign, **{COLORS.get(line.judgement, "yellow"): True, "bold": True})
        _line(reporter, f" {line.subject.ljust(width)}  {line.reason}")
    reporter.write_line("")


def _table(reporter: pytest.TerminalReporter, table: Table) -> None:
    for line in as_lines(table):
        _line(reporter, line.text, bold=line.kind == "heading", light=line.kind in ("aside", "note"))
    reporter.write_line("")
