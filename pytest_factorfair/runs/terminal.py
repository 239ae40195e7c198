"""The terminal section, which ends with the verdict and the next step, and annotations for GitHub Actions."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_factorfair.benchmarks.combined import warnings
from pytest_factorfair.domain import Judgement, Verdict, plural
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import (
    answerers,
    bill,
    detector_lines,
    example_in,
    expired_waivers,
    explanation,
    extent,
    most_in,
)
from pytest_factorfair.drawing.table import as_lines, fitting, number
from pytest_factorfair.gates.release import SIGNS
from pytest_factorfair.reports.sections import sections

if TYPE_CHECKING:
    from pytest_factorfair.runs.conclusion import Result

COLORS = {
    "passed": "green",
    "failed": "red",
    "PASS": "green",
    "PASS WITH WAIVERS": "green",
    "FAIL": "red",
}
"""The colors of verdicts and of the overall verdict; others are yellow."""

EXPLAINED, OF_A_KIND = 3, 2
"""Causes that are explained, in all and of gates on the same kind of answers; the other gates are named."""

LINES = 4
"""Lines of an explanation, and of the scores."""

NAMED = 2
"""Topics that an explanation names."""

COMMAND = "Next: factorfair "
"""Begins a next step that is a command."""


class Reporter(Protocol):
    """Writes lines, as pytest's terminal reporter does; markup is such as ``bold=True``."""

    @property
    def verbosity(self) -> int: ...

    def write(self, content: str, **markup: bool) -> None: ...

    def write_line(self, line: str, **markup: bool) -> None: ...

    def write_sep(self, sep: str, title: str) -> None: ...


def terminal(reporter: Reporter, result: Result, *, width: int, alarms: tuple[str, ...] = ()) -> None:
    """Write the section, and annotations in a job of GitHub Actions.

    It ends with whether to ship, why, and what to do next. ``alarms`` say why the run fails besides its
    gates; ``width`` is the terminal's, in characters. With ``-v`` it has all that the page has in tables and
    notes; with ``-q`` only the verdict, the failed gates and the path of the page.
    """
    SummarySection(reporter, result, width=width).write(alarms=alarms)
    if os.environ.get(GITHUB_ACTIONS) == "true":
        for annotation in annotate(result):
            reporter.write_line(str(annotation))


class SummarySection:
    """Writes lines as wide as the terminal; control characters in text from outside are escaped."""

    def __init__(self, reporter: Reporter, result: Result, *, width: int) -> None:
        self._reporter = reporter
        self._result = result
        self._summary = result.summary
        self._report = sections(result.summary)
        self._quiet, self._verbose = reporter.verbosity < 0, reporter.verbosity > 0
        self._width = max(width, 60)

    def write(self, *, alarms: tuple[str, ...]) -> None:
        report, release = self._report, self._report.release
        self._reporter.write_sep("=", escaping.terminal(f"factorfair: {', '.join(report.models)}"))
        if self._quiet:
            self._verdict()
            if release is not None and release.word == "UNDECIDED":
                self._next()
            self._text(*report.answered)
            self._lines()
            self._paths()
            self._text(*alarms, red=True)
            return
        if self._verbose:
            self._lines()
            self._reporter.write_line("")
        if self._result.shard:
            self._text("Scores are left to the merge.")
        elif self._verbose:
            self._tables()
            self._text(*report.headlines)
        else:
            self._scores()
            self._text(*filter(None, [report.compared]))
            self._groups()
        # Without a verdict, nothing else sums up what the run shows.
        if self._verbose or (release is None and not self._result.shard):
            self._text(*(f"note: {note}" for note in report.notes))
        if self._verbose:
            self._text(report.usage)
        elif release is not None:
            notes = answerers(self._summary.fingerprint.models, self._summary.cases)
            self._text(*(f"note: {note}" for note in (*detector_lines(self._summary), *notes)))
        self._paths()
        self._text(*report.answered)
        self._verdict()
        self._next()
        self._text(*alarms, red=True)

    def _verdict(self) -> None:
        """Whether to ship, and why."""
        report, release = self._report, self._report.release
        in_full = release is None or release.word not in ("FAIL", "UNDECIDED") or self._quiet or self._verbose
        shown = report.warnings if in_full else expired_waivers(self._summary)  # the advice says the rest
        self._text(*(f"warning: {warning}" for warning in shown), yellow=True, bold=True)
        if release is None:
            if self._summary.incomplete or not self._quiet:
                self._text(report.title, yellow=True)
            return
        self._text(f"release: {release}", bold=True, **{COLORS.get(release.word, "yellow"): True})
        if release.advice and (not self._quiet or release.word in ("UNDECIDED", "PASS WITH WAIVERS")):
            self._text(release.advice)
        if release.look and not self._quiet:
            self._text(release.look)

    def _next(self) -> None:
        """What to do."""
        release = self._report.release
        if step := self._result.remedy if release is None else release.next_step:
            self._text(f"Next: {step}", bold=True)

    def _scores(self) -> None:
        """The scores in a few lines."""
        for table in self._report.briefs:
            fitted = fitting(table, self._width)
            lines = [*as_lines(fitted.table, gap=fitted.gap)]
            shown = lines if len(lines) <= LINES + 1 else lines[:LINES]  # naming one line takes one, too
            for line in shown:
                self._text(line.text, bold=line.kind == "heading")
            if left_out := len(lines) - len(shown):
                self._text(f"and {left_out:,} more lines: see the report, or -v")

    def _groups(self) -> None:
        """What did not pass, by cause, the first ones in a few lines each; and how many passed.

        What is waived is shown with its reason, however many there are.
        """
        if self._summary.incomplete:
            return
        room = EXPLAINED
        for judgement, sign in SIGNS.items():
            groups = [group for group in self._report.groups if group.judgement == judgement]
            further: list[Verdict] = []
            before = room
            for group in groups if judgement != "passed" else ():
                shown = 0
                if group.cause and room:
                    text = f"{sign} {plural(len(group.verdicts), 'gate')}: {group.cause}"
                    self._signed(judgement, text)
                    self._text(self._named(group.verdicts, begun=2), indent=2)
                    room, shown = room - 1, len(group.verdicts)
                elif not group.cause:
                    shown = len(group.verdicts) if judgement == "waived" else min(room, OF_A_KIND)
                    for verdict in group.verdicts[:shown]:
                        self._explained(verdict)
                    room -= 0 if judgement == "waived" else shown
                further += group.verdicts[shown:]
            if further:
                text = f"{sign} {plural(len(further), 'more gate' if room < before else 'gate')}: "
                self._signed(judgement, text + self._named(further, begun=len(text)))
        passed = [verdict for verdict in self._summary.gates if verdict.judgement == "passed"]
        if len(passed) == 1 and (explained := passed[0].explanation) is not None:
            self._signed("passed", f"passed {passed[0].subject}: {explained.sentence}")
        elif passed:
            self._signed("passed", f"passed {plural(len(passed), 'gate')}")

    def _explained(self, verdict: Verdict) -> None:
        """A verdict in plain words, with the score, topics and an example if it failed."""
        sign, explained = SIGNS[verdict.judgement], verdict.explanation
        if explained is None or verdict.judgement != "failed":
            self._signed(verdict.judgement, f"{sign} {verdict.subject}: {verdict.cause or verdict.reason}")
            return
        scored = verdict.low is not None or self._summary.fingerprint.estimator != "corrected"  # no test's
        scored = scored and verdict.subject.endswith("]")  # else its limit is behind it
        value = f" = {number(verdict.value)}" if scored else ""
        lines = self._signed(verdict.judgement, f"{sign} {verdict.subject}{value}: {explained.sentence}")
        further = []
        for topics in (NAMED, 1):
            if 0 < len(line := most_in(explained, topics)) <= self._width - 2:
                further.append(line)
                break
        if explained.example is not None:
            further.append(example_in(explained.example, self._width - 2))
        self._text(*further[: LINES - lines], indent=2)

    def _named(self, verdicts: Sequence[Verdict], *, begun: int) -> str:
        """As many of the scores' names as fit a line, and how many there are more."""
        subjects = [verdict.subject for verdict in verdicts]
        for count in range(len(subjects), 0, -1):
            left_out = len(subjects) - count
            named = ", ".join(subjects[:count]) + (f" and {left_out} more" if left_out else "")
            if begun + len(named) <= self._width:
                break
        return named

    def _signed(self, judgement: Judgement, text: str) -> int:
        """Write a text whose first word is colored as the judgement; returns the number of lines."""
        lines = self._wrapped(text, hanging=2)
        sign = SIGNS[judgement]
        self._reporter.write(sign, **{COLORS.get(judgement, "yellow"): True, "bold": True})
        self._reporter.write_line(lines[0].removeprefix(sign))
        for line in lines[1:]:
            self._reporter.write_line(line)
        return len(lines)

    def _lines(self) -> None:
        """Write one verdict per line, and explain those that did not pass, unless nothing was judged."""
        groups = () if self._summary.incomplete else self._report.groups
        shown = [line for group in groups for line in group.lines]
        if self._quiet:
            shown = [line for line in shown if line.judgement == "failed"]
        margin = max((len(SIGNS[line.judgement]) for line in shown), default=0) + 1
        # Subjects are padded only as far as the lines still fit.
        room = self._width - margin - 2
        short = [line for line in shown if len(line.subject) + len(line.reason) <= room]
        longest = min((room - len(line.reason) for line in short), default=0)
        column = max((len(line.subject) for line in short if len(line.subject) <= longest), default=0)
        for line in shown:
            sign = f"{SIGNS[line.judgement]:<{margin}}"
            self._reporter.write(sign, **{COLORS.get(line.judgement, "yellow"): True, "bold": True})
            if line in short:
                self._text(f"{line.subject.ljust(column)}  {line.reason}", begun=margin)
            else:
                self._text(line.subject, begun=margin)
                self._text(line.reason, indent=margin)
            if line.verdict is not None and line.judgement != "passed" and not self._quiet:
                self._text(*self._report.explanations[line.verdict.name], indent=2)

    def _tables(self) -> None:
        report = self._report
        self._text(*filter(None, [report.compared]))
        tables = [(report.changes, False)] if report.changes else []
        tables += [(table, True) for table in report.tables]
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
        neighbours = [Path(path).name for path in further_paths if Path(path).parent == Path(page).parent]
        elsewhere = [path for path in further_paths if Path(path).parent != Path(page).parent]
        named = [] if self._quiet else [*(neighbours if self._verbose else ()), *elsewhere]
        also = f" (also {', '.join(named)})" if named else ""
        self._text(f"{report}: {_place(page)}{also}", *map(str, result.logged))
        if not (self._quiet or self._verbose):
            self._text(f"{extent(self._summary)}; {bill(self._summary)}")

    def _text(self, *lines: str, indent: int = 0, begun: int = 0, **markup: bool) -> None:
        """Write lines, wrapped if they are too long; ``begun`` columns are already written."""
        for line in lines:
            for text in self._wrapped(line, indent=indent, begun=begun):
                self._reporter.write_line(text, **markup)

    def _wrapped(self, line: str, *, indent: int = 0, begun: int = 0, hanging: int = 0) -> list[str]:
        """A line as lines that fit; all are indented, those behind the first by ``hanging`` more.

        A command stays in one line, so that it can be copied.
        """
        line = escaping.terminal(line)
        if line.startswith(COMMAND) or (not indent and len(line) <= self._width - begun):
            return [" " * indent + line]
        return textwrap.wrap(
            line,
            self._width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hanging),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]


def _place(path: str) -> str:
    """The path, relative to the current directory if it lies below it."""
    working_folder = Path.cwd()
    return str(Path(path).relative_to(working_folder)) if Path(path).is_relative_to(working_folder) else path


GITHUB_ACTIONS = "GITHUB_ACTIONS"
"""The variable that is ``true`` in a job of GitHub Actions."""

MOST_ANNOTATIONS = 10
"""The most annotations of one level that GitHub shows for a step."""

LONGEST_ANNOTATION = 300
"""The characters of an annotation that a pull request shows without folding."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One workflow command, which no text in it can end."""

    level: Literal["error", "warning"]
    title: str
    text: str

    def __str__(self) -> str:
        title = escaping.annotation_property(self.title)
        text = (
            self.text
            if len(self.text) <= LONGEST_ANNOTATION
            else f"{self.text[: LONGEST_ANNOTATION - 4]} ..."
        )
        return f"::{self.level} title={title}::{escaping.annotation(text)}"


def annotate(result: Result) -> tuple[Annotation, ...]:
    """An error for each gate that fails the job, then warnings; the tenth may cover several.

    A run that was not judged gets one annotation: the reason is the same for all gates.
    """
    summary = result.summary
    if summary.incomplete and summary.release:
        title, text = f"factorfair: {summary.release.word}", summary.release.advice or summary.incomplete
        return (Annotation("error" if summary.release.fails else "warning", title, text),)
    errors: list[Annotation] = []
    warned = [Annotation("warning", "factorfair", text) for text in warnings(summary)]
    if summary.release is not None and summary.release.word == "UNDECIDED":
        level: Literal["error", "warning"] = "error" if summary.release.fails else "warning"
        title = f"factorfair: {summary.release.word}"
        (errors if level == "error" else warned).append(Annotation(level, title, summary.release.advice))
    for verdict in summary.gates:
        title, text = f"factorfair: {verdict.gate}", f"{verdict.subject}: {verdict.reason}"
        if verdict.judgement in ("inconclusive", "not judged"):
            text = f"{verdict.subject}: {verdict.judgement}: {verdict.reason}"
        text = "\n".join((text, *explanation(verdict)))
        if verdict.judgement == "failed":
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
