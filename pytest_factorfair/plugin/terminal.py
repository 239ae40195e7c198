"""The terminal section, from the verdict to the paths of reports, and annotations for GitHub Actions."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_factorfair.domain import Illustration, ReleaseVerdict, Summary, plural
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import (
    SIGNS,
    VerdictLine,
    answered,
    detector_lines,
    explanation,
    usage_line,
    verdict_lines,
    warnings,
)
from pytest_factorfair.drawing.table import as_lines, fitting
from pytest_factorfair.reports.tables import all_tables, changes_table, compared, headlines

if TYPE_CHECKING:
    import pytest

    from pytest_factorfair.session.conclusion import Result

COLORS = {
    "passed": "green",
    "failed": "red",
    "PASS": "green",
    "PASS WITH WAIVERS": "green",
    "FAIL": "red",
}
"""The colors of verdicts and of the overall verdict; others are yellow."""

EXPLAINED = 5
"""Verdicts that are explained in full; the others only with the first sentence."""


def terminal(reporter: pytest.TerminalReporter, result: Result, *, alarms: tuple[str, ...]) -> None:
    """Write the section, and annotations in a job of GitHub Actions.

    A person should be able to read the section in ten seconds. ``alarms`` say why the run fails besides its
    gates. With ``-q`` only the verdict, the failed gates and the path of the page are written.
    """
    SummarySection(reporter, result, quiet=reporter.verbosity < 0).write(alarms=alarms)
    if os.environ.get(GITHUB_ACTIONS) == "true":
        for annotation in annotate(result):
            reporter.write_line(str(annotation))


class SummarySection:
    """Writes lines as wide as the terminal; control characters in text from outside are escaped."""

    def __init__(self, reporter: pytest.TerminalReporter, result: Result, *, quiet: bool) -> None:
        self._reporter = reporter
        self._result = result
        self._summary = result.summary
        self._quiet = quiet
        self._width = max(reporter.config.get_terminal_writer().fullwidth, 60)

    def write(self, *, alarms: tuple[str, ...]) -> None:
        summary = self._summary
        names = ", ".join(summary.fingerprint.models)
        self._reporter.write_sep("=", escaping.terminal(f"factorfair: {names}"))
        self._text(*(f"warning: {warning}" for warning in warnings(summary)), yellow=True, bold=True)
        if summary.release is not None:
            self._verdicts(summary, summary.release)
        else:
            if summary.incomplete:
                self._text(f"Not judged: {summary.incomplete}.", yellow=True)
            self._text(*answered(summary))
        if not self._quiet:
            if self._result.shard:
                self._text("Scores are left to the merge.")
            else:
                self._tables(summary)
                self._text(*headlines(summary))
            self._text(*(f"note: {note}" for note in (*detector_lines(summary), *summary.notes)))
            self._text(usage_line(summary))
        self._paths()
        if summary.release is not None and not summary.gates and not self._result.shard:
            self._text(str(summary.release), yellow=True)
        self._text(*alarms, red=True)

    def _verdicts(self, summary: Summary, release: ReleaseVerdict) -> None:
        self._text(f"release: {release}", bold=True, **{COLORS.get(release.word, "yellow"): True})
        if release.advice and (not self._quiet or release.word in ("UNDECIDED", "PASS WITH WAIVERS")):
            self._text(release.advice)
        self._text(*answered(summary))
        if not summary.incomplete:  # otherwise no gate is judged, and the advice says why
            self._lines(verdict_lines(summary.gates))
        if not self._quiet:
            self._reporter.write_line("")

    def _lines(self, lines: tuple[VerdictLine, ...]) -> None:
        """Write one verdict per line, and explain those that did not pass."""
        shown = [line for line in lines if not self._quiet or line.judgement == "failed"]
        margin = max((len(SIGNS[line.judgement]) for line in shown), default=0) + 1
        # Subjects are padded only as far as the lines still fit.
        room = self._width - margin - 2
        short = [line for line in shown if len(line.subject) + len(line.reason) <= room]
        longest = min((room - len(line.reason) for line in short), default=0)
        column = max((len(line.subject) for line in short if len(line.subject) <= longest), default=0)
        explained, examples = 0, set[Illustration]()
        for line in shown:
            sign = f"{SIGNS[line.judgement]:<{margin}}"
            self._reporter.write(sign, **{COLORS.get(line.judgement, "yellow"): True, "bold": True})
            if line in short:
                self._text(f"{line.subject.ljust(column)}  {line.reason}", begun=margin)
            else:
                self._text(line.subject, begun=margin)
                self._text(line.reason, indent=margin)
            if line.verdict is None or self._quiet:
                continue
            sentences = tuple(explanation(line.verdict, known=examples))
            self._text(*(sentences if explained < EXPLAINED else sentences[:1]), indent=2)
            explained += 1

    def _tables(self, summary: Summary) -> None:
        tables = []
        if summary.changes:
            self._text(compared(summary.changes))
            tables.append((changes_table(summary.changes), False))
        if any(answer.outcome == "answered" for record in summary.cases for answer in record.answers):
            tables += [(table, True) for table in all_tables(summary)]  # without an answer all is empty
        fitted = [(*fitting(table, self._width), titled) for table, titled in tables]
        last = {legend: position for position, (_, _, legends, _) in enumerate(fitted) for legend in legends}
        for position, (table, gap, legends, titled) in enumerate(fitted):
            for line in as_lines(table, titles=titled, gap=gap):
                self._text(line.text, bold=line.kind == "heading", light=line.kind in ("aside", "note"))
            self._text(*(legend for legend in legends if last[legend] == position), light=True)
            self._reporter.write_line("")

    def _paths(self) -> None:
        result = self._result
        if not result.written:
            return
        report = "report"
        if result.complete_report:
            report = f"partial report (the complete one in {_place(result.complete_report)} is kept)"
        page, *further_paths = sorted(result.written, key=lambda path: not path.endswith(".html"))
        names = [
            Path(path).name if Path(path).parent == Path(page).parent else path for path in further_paths
        ]
        also = "" if self._quiet else f" (beside it {', '.join(names)})"
        self._text(f"{report}: {_place(page)}{also}", *map(str, result.logged))

    def _text(self, *lines: str, indent: int = 0, begun: int = 0, **markup: bool) -> None:
        """Write lines, wrapped if they are too long; ``begun`` columns are already written."""
        for line in map(escaping.terminal, lines):
            margin, wrapped = " " * indent, [line]
            if indent or len(line) > self._width - begun:
                wrapped = textwrap.wrap(
                    line,
                    self._width,
                    initial_indent=margin,
                    subsequent_indent=margin,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            for text in wrapped:
                self._reporter.write_line(text, **markup)


def _place(path: str) -> str:
    """The path, relative to the current directory if it lies below it."""
    working_folder = Path.cwd()
    return str(Path(path).relative_to(working_folder)) if Path(path).is_relative_to(working_folder) else path


GITHUB_ACTIONS = "GITHUB_ACTIONS"
"""The variable that is ``true`` in a job of GitHub Actions."""

MOST_ANNOTATIONS = 10
"""The most annotations of one level that GitHub shows for a step."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One workflow command, which no text in it can end."""

    level: Literal["error", "warning"]
    title: str
    text: str

    def __str__(self) -> str:
        title = escaping.annotation_property(self.title)
        return f"::{self.level} title={title}::{escaping.annotation(self.text)}"


def annotate(result: Result) -> tuple[Annotation, ...]:
    """One for each gate that fails the job, then warnings; the tenth may stand for several.

    A run that was not judged gets one annotation: the reason is the same for all gates.
    """
    summary = result.summary
    if summary.incomplete and summary.release:
        title, text = f"factorfair: {summary.release.word}", summary.release.advice or summary.incomplete
        return (Annotation("error" if summary.release.fails else "warning", title, text),)
    errors = []
    warned = [Annotation("warning", "factorfair", text) for text in warnings(summary)]
    for verdict in summary.gates:
        title, text = f"factorfair: {verdict.gate}", f"{verdict.subject}: {verdict.reason}"
        if verdict.judgement not in ("failed", "waived", "passed"):
            text = f"{verdict.subject}: {verdict.judgement}: {verdict.reason}"
        text = "\n".join((text, *explanation(verdict)))
        if result.outcome(verdict) == "failed":
            errors.append(Annotation("error", title, text))
        elif verdict.judgement in ("inconclusive", "not judged"):
            warned.append(Annotation("warning", title, text))
    annotations = (*errors, *warned)
    if len(annotations) <= MOST_ANNOTATIONS:
        return annotations
    further = plural(len(annotations) - MOST_ANNOTATIONS + 1, "more gate")
    remainder = f"and {further}: see the job's summary or report.md"
    title = f"factorfair: {summary.release}"
    return (
        *annotations[: MOST_ANNOTATIONS - 1],
        Annotation(annotations[MOST_ANNOTATIONS - 1].level, title, remainder),
    )
