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
from pytest_factorfair.reports.table import as_lines
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
    _write(reporter, *(f"warning: {warning}" for warning in warnings(summary)), yellow=True, bold=True)
    if summary.incomplete:
        _write(reporter, f"Not judged: {summary.incomplete}.", yellow=True)
    if summary.gates:
        _verdicts(reporter, summary, fails=fails)
    if summary.changes:
        _write(reporter, *changes_text(summary.changes).splitlines(), "")
    answered = any(answer.outcome == "answered" for record in summary.cases for answer in record.answers)
    if result.shard:
        _write(reporter, "Scores are left to the merge.")
    elif answered:  # without an answer all cells are dashes
        for table in all_tables(summary):
            for line in as_lines(table):
                _write(reporter, line.text, bold=line.kind == "heading", light=line.kind in ("aside", "note"))
            reporter.write_line("")
    _write(reporter, *(() if result.shard else headlines(summary)))
    _write(reporter, *(f"note: {note}" for note in (*detector_lines(summary), *summary.notes)))
    _write(reporter, usage_line(summary))
    if result.written:
        kept = f"partial report (the complete one in {_place(result.kept)} is kept)" if result.kept else ""
        label = kept or "report"
        page_first = sorted(result.written, key=lambda path: not path.endswith(".html"))
        _write(reporter, f"{label}: {', '.join(map(_place, page_first))}")
    _write(reporter, *alarms, red=True)


def _verdicts(reporter: pytest.TerminalReporter, summary: Summary, *, fails: bool) -> None:
    verdict = release(summary.gates, summary.unjudged)
    if fails and not any(one.judgement == "failed" for one in summary.gates):
        verdict += "; the run fails"
    reporter.write_line(f"release: {verdict}", bold=True)
    # Where no gate is judged, the line above has the reason of all.
    unjudged = summary.incomplete and all(one.judgement == "not judged" for one in summary.gates)
    lines = () if unjudged else verdict_lines(summary.gates)
    width = max((len(line.subject) for line in lines if len(line.subject) <= LONG), default=0)
    for line in lines:
        sign = SIGNS[line.judgement].ljust(12)
        reporter.write(sign, **{COLORS.get(line.judgement, "yellow"): True, "bold": True})
        _write(reporter, f" {line.subject.ljust(width)}  {line.reason}")
    reporter.write_line("")


def _place(path: str) -> str:
    """Relative to the current directory where it lies below it."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _write(reporter: pytest.TerminalReporter, *lines: str, **markup: bool) -> None:
    """Write lines that may hold text from outside."""
    for line in lines:
        reporter.write_line(escaping.terminal(line), **markup)
