"""``factorfair compare REPORT.json ...``: compare models, and show changes between reports, offline."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_factorfair.commands.common import Commands, loaded, read_hooks, same_content, write
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.comparing import ComparedModel
    from pytest_factorfair.domain import Case, Checklist, Score, Summary
    from pytest_factorfair.domain.board import History, Leaderboard, Succession
    from pytest_factorfair.drawing.entries import Entry
    from pytest_factorfair.runs.baseline import Baseline

    Asked: TypeAlias = tuple[tuple[Checklist, tuple[Case, ...]], ...]

REGRESSED = 1

FORMS = {".html": "html", ".md": "markdown"}
"""Output formats, by file name extension."""


def add(commands: Commands) -> None:
    """Add the command ``compare``; its exit code is 1 after a regression, 4 if nothing can be compared."""
    parser = commands.add_parser(
        "compare",
        help="compare models and reports",
        description="Compare the models of reports, and show what changed from report to report.",
    )
    parser.add_argument("reports", nargs="+", metavar="REPORT.json", help="reports, oldest first")
    parser.add_argument("--teacher", metavar="MODEL", help="compare every other model with this one")
    parser.add_argument(
        "--checklist",
        metavar="NAME|PATH",
        help="a checklist used in the reports, if it is not a shipped one",
    )
    parser.add_argument(
        "--format",
        choices=("brief", "text", "markdown", "html"),
        dest="form",
        help="default: by the ending of FILE (.html or .md); else text in a file, and brief in the terminal",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of the terminal")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from pytest_factorfair.reports.html.comparison import to_html
    from pytest_factorfair.reports.leaderboard import to_brief, to_markdown, to_text

    read_hooks()
    leaderboard, entries = compare(
        arguments.reports, teacher=arguments.teacher, checklist=arguments.checklist
    )
    form = FORMS.get(Path(arguments.output).suffix, "text") if arguments.output else "brief"
    match arguments.form or form:
        case "html":
            text = to_html(leaderboard, entries)
        case "markdown":
            text = to_markdown(leaderboard)
        case "brief":
            text = to_brief(leaderboard)
        case _:
            text = to_text(leaderboard)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write(Path(arguments.output), text)
    return REGRESSED if leaderboard.regressed else 0


@dataclass(frozen=True, slots=True, eq=False)
class ReadReport:
    """One of the reports to compare; ``number`` counts from 1, ``asked`` are cases whose answers to count."""

    number: int
    path: str
    counted: Baseline
    summary: Summary
    asked: Asked = ()

    def unsaved(self, checklist: str) -> list[str]:
        """The metrics that the run measured for a checklist, but whose counts the report does not contain."""
        from pytest_factorfair.benchmarks import benchmarks_of

        scores = [
            score.metric
            for score in self.summary.scores
            if score.checklist == checklist and score.value is not None
        ]
        return [
            metric
            for benchmark in benchmarks_of(self.summary.scores)
            if any(name.startswith(benchmark.unsaved) for name in scores)
            for metric in benchmark.unsaved
        ]

    def __str__(self) -> str:
        run = self.summary.fingerprint
        asked = f"{run.preset} preset, {', '.join(run.checklists)}, {run.times.get('started', '')[:10]}"
        return f"{self.name}: {self.path} ({asked})"

    @property
    def name(self) -> str:
        return f"report {self.number}"


def compare(
    paths: Sequence[str],
    *,
    teacher: str | None = None,
    checklist: str | None = None,
    baseline: bool = False,
) -> tuple[Leaderboard, tuple[Entry, ...]]:
    """Compare the models of all reports on the scores they have in common, with changes between reports.

    Also returned are the models' own scores by checklist. Answers whose counts are not in the reports are
    counted again, which needs the checklist: ``checklist``, by name or path, or the shipped one. If the first
    report is the ``baseline`` of the second, changes between them are listed whatever their models.

    Raises:
        InputError: a file is no report, reports cannot be compared, or no report has the teacher.
    """
    # Lazy: these import numpy and the scores, which `factorfair --help` does not need.
    from pytest_factorfair.benchmarks import benchmarks_of
    from pytest_factorfair.domain.board import Board, Leaderboard
    from pytest_factorfair.gates.comparison import boards

    reports = _read(paths)
    models = {model for report in reports for model in report.summary.fingerprint.models}
    past, names, shared_boards = None, tuple(models), tuple[Board, ...]()
    if len(reports) > 1 and len(models) == 1 and teacher is None:
        past, reports, eras = _history(reports)
        compared = eras[past.releases[-1].era]
        recounted = [_recounted(era, checklist) for era in eras if len(era) > 1]
        followed = tuple(succession for era, _ in recounted for succession in _successions(era, first=True))
        lacking = [line for _, lines in recounted for line in lines]
        compared_models = list(_compared_models(compared))
    else:
        for report in reports[1:]:
            _comparable(reports[0], report)
        compared, lacking = _recounted(reports, checklist)
        compared_models = list(_compared_models(compared))
        if len(compared_models) < 2:  # noqa: PLR2004
            raise InputError(f"{paths[0]}: the report has one model; give another report to compare it with")
        names = tuple(compared_model.name for compared_model, _ in compared_models)
        if teacher is not None and teacher not in names:
            raise InputError(f"--teacher {teacher}: not one of the compared models{nearest(teacher, names)}")
        shared_boards = boards([compared_model for compared_model, _ in compared_models])
        followed = tuple(_successions(compared, baseline=baseline))
    if not shared_boards and not followed:
        scores = [score for report in reports for score in report.summary.scores]
        ways = dict.fromkeys(benchmark.comparison for benchmark in benchmarks_of(scores))
        problem = "; ".join(("they have no score in common", *filter(None, ways)))
        raise InputError(f"{' and '.join(paths)}: {problem}")
    silent = dict(_mostly_declined(compared_models))
    leaderboard = Leaderboard(
        models=names,
        reports=tuple(map(str, reports)),
        boards=shared_boards,
        successions=followed,
        verdicts=tuple(
            f"{', '.join(report.summary.fingerprint.models)} ({report.name}): {release}"
            for report in reports
            if (release := report.summary.release) is not None
        ),
        notes=tuple(_notes(reports, lacking, silent, estimated=bool(shared_boards))),
        perceived=bool(reports[0].summary.fingerprint.detector),
        complete=not any(report.summary.incomplete for report in reports),
        teacher=teacher,
        history=past,
        silent=frozenset(silent),
    )
    return leaderboard, tuple(entry for _, entries in compared_models for entry in entries)


def _notes(
    reports: Sequence[ReadReport], lacking: Iterable[str], silent: Mapping[str, float], *, estimated: bool
) -> Iterator[str]:
    """What to know of the reports, of counts that are ``lacking``, and of models that mostly declined."""
    from pytest_factorfair.drawing.statements import detector_lines  # lazy: imports numpy

    runs = [report.summary.fingerprint for report in reports]
    for report in reports:
        if report.summary.incomplete:
            yield f"{report.name}: NOT JUDGED: {report.summary.incomplete}"
    yield from _repeated_reports(reports)
    yield from detector_lines(reports[0].summary)
    yield from dict.fromkeys(lacking)
    if runs[0].estimator != "corrected" and estimated:
        yield f"scores are estimated again, without bias; the reports use {runs[0].estimator}"
    if any(run.interval == "scenarios" for run in runs):
        yield "intervals and differences are those of these scenarios, not of scenarios in general"
    for model, share in silent.items():
        declined = f"{model} declined {share:.0%} of its judgements, which count as even choices"
        yield f"{declined}: scores of judgements say little about it"


def _read(paths: Sequence[str]) -> list[ReadReport]:
    """Read all reports, each given as a file or its folder."""
    from pytest_factorfair.reports import json_report
    from pytest_factorfair.runs import baseline

    reports = []
    for number, path in enumerate(paths, 1):
        with json_report.opened(path, name=path) as content:
            counted = baseline.counted(content, path, columns=True)
            reports.append(ReadReport(number, path, counted, json_report.summary(content)))
    return reports


def _repeated_reports(reports: Sequence[ReadReport]) -> Iterator[str]:
    """A line for each report that is the same as an earlier one."""
    numbers: dict[object, int] = {}
    for report in reports:
        run = report.summary.fingerprint
        earlier = numbers.setdefault((*run.models, *run.times.items(), report.summary.scores), report.number)
        if earlier != report.number:
            yield f"{report.name} is the same as report {earlier}: it is compared with itself"


def _comparable(former: ReadReport, current: ReadReport) -> None:
    """Raise InputError if two reports are not comparable."""
    from pytest_factorfair.runs import baseline

    baseline.comparable(
        former.path, former.counted.fingerprint, current.counted.fingerprint, other=f"that of {current.path}"
    )


def _apart(former: ReadReport, current: ReadReport) -> str:
    """The reason why two reports are not comparable; empty if they are."""
    try:
        _comparable(former, current)
    except InputError as error:
        return str(error)
    return ""


def _history(reports: Sequence[ReadReport]) -> tuple[History, list[ReadReport], list[list[ReadReport]]]:
    """The history of a model: its reports in the order of time, grouped by whether they are comparable."""
    from pytest_factorfair.benchmarks import benchmark_with
    from pytest_factorfair.domain.board import History, Release, Trend

    ordered = sorted(reports, key=lambda report: report.summary.fingerprint.times.get("started", ""))
    eras: list[list[ReadReport]] = []
    releases: list[Release] = []
    for index, report in enumerate(ordered):
        apart = _apart(ordered[index - 1], report) if index else ""
        comparable = [era for era in eras if not _apart(era[0], report)]
        era = eras[releases[-1].era] if index and not apart else comparable[0] if comparable else []
        if not era:
            eras.append(era)
        era.append(report)
        started = report.summary.fingerprint.times.get("started", "")
        number = next(number for number, candidate in enumerate(eras) if candidate is era)
        releases.append(Release(report.name, started, number, apart))
    if len(eras) == len(ordered):
        raise InputError(next(release.apart for release in releases if release.apart))
    rows = [
        {
            (score.checklist, score.part, score.context, score.attribute, score.metric): score
            for score in report.summary.scores
            if benchmark_with(score.metric).over_time(score)
        }
        for report in ordered
    ]
    by_metric: dict[tuple[str, str, str], tuple[str, str, str | None, str, str]] = {}
    for about in dict.fromkeys(about for row in rows for about in row):
        by_metric.setdefault((about[0], about[3], about[4]), about)
    subjects = list(dict.fromkeys(about[:1] + about[3:4] for about in by_metric.values()))
    trends = tuple(
        Trend(*about, tuple(row.get(about) for row in rows))
        for about in sorted(by_metric.values(), key=lambda about: subjects.index(about[:1] + about[3:4]))
    )
    return History(tuple(releases), trends), ordered, eras


def _recounted(reports: list[ReadReport], requested: str | None) -> tuple[list[ReadReport], list[str]]:
    """Add the cases whose answers must be counted again, with a line for each checklist that is lacking."""
    from pytest_factorfair.benchmarks import shipped
    from pytest_factorfair.domain import listed

    names = dict.fromkeys(name for report in reports for name in report.counted.fingerprint["checklists"])
    at_hand: list[tuple[Checklist, dict[str, Case]]] = []
    lacking = []
    for name in (*([] if requested is None else [requested]), *names):
        if any(checklist.name == name for checklist, _ in at_hand):
            continue
        report = next(
            (report for report in reports if name in report.counted.fingerprint["checklists"]), reports[0]
        )
        try:
            at_hand.append(_at_hand(name, report, shipped=name == requested or name in shipped()))
        except InputError as error:
            if name == requested or name in report.counted.uncounted:
                raise
            if metrics := report.unsaved(name):
                lacking.append(f"{listed(metrics)} are not compared: {error}")
    recounted = []
    for report in reports:
        asked = {record.case[1:] for record in report.counted.records}
        again = (
            (checklist, tuple(case for id_, case in cases.items() if (checklist.name, id_) in asked))
            for checklist, cases in at_hand
        )
        recounted.append(replace(report, asked=tuple(again)))
    return recounted, lacking


def _at_hand(name: str, report: ReadReport, *, shipped: bool) -> tuple[Checklist, dict[str, Case]]:
    """Load the checklist of a report by name or path, with its cases.

    Raises:
        InputError: the checklist is not shipped, or its content is not that in the report.
    """
    if not shipped:
        raise InputError(
            f"{report.path}: its answers to checklist '{name}' must be counted again; "
            "give the checklist's file with --checklist"
        )
    checklist, cases = loaded(name, report.counted.fingerprint["truth"])
    same_content(report.path, report.counted.fingerprint["checklists"].get(checklist.name), checklist)
    return checklist, cases


def _compared_models(reports: Sequence[ReadReport]) -> Iterator[tuple[ComparedModel, tuple[Entry, ...]]]:
    """Every model of every report, with a unique name and its entry for each checklist."""
    from pytest_factorfair.benchmarks.comparing import ComparedModel
    from pytest_factorfair.drawing import escaping
    from pytest_factorfair.drawing.entries import Entry

    times = Counter(model for report in reports for model in report.counted.fingerprint["models"])
    common = tuple(  # the cases to count again, restricted to those that all reports with the checklist asked
        (
            asked[0][0],
            tuple(case for case in asked[0][1] if all(case in cases for _, cases in asked if cases)),
        )
        for asked in zip(*(report.asked for report in reports), strict=True)
    )
    for report in reports:
        counted = report.counted
        counts = counted.counts(common)
        for model in report.summary.fingerprint.models:
            compared_model = ComparedModel(
                name=model if times[model] == 1 else f"{model} ({report.name})",
                counts=tuple(model_counts for model_counts in counts if model_counts.model == model),
                scores=tuple(score for score in report.summary.scores if score.model == model),
            )
            by_checklist: dict[str, list[Score]] = {}
            for score in compared_model.scores:
                by_checklist.setdefault(score.checklist, []).append(score)
            label = escaping.one_line(compared_model.name)
            yield (
                compared_model,
                tuple(
                    Entry(label, model, checklist, report.summary, tuple(scores))
                    for checklist, scores in by_checklist.items()
                ),
            )


def _mostly_declined(
    compared_models: Iterable[tuple[ComparedModel, tuple[Entry, ...]]],
) -> Iterator[tuple[str, float]]:
    """The models that declined most of their judgements, with the share."""
    from pytest_factorfair.benchmarks.combined import declining

    for compared_model, entries in compared_models:
        if entries:
            entry = entries[0]
            for declined in declining(entry.summary):
                if declined.mostly and declined.model == entry.model:
                    yield compared_model.name, declined.share


def _successions(
    reports: Sequence[ReadReport], *, first: bool = False, baseline: bool = False
) -> Iterator[Succession]:
    """The steps from each report to the next one with the same model; from a ``baseline`` to another, too.

    ``first`` adds the step from the first report to the last.
    """
    from pytest_factorfair.benchmarks.measurement import BaselineCounts
    from pytest_factorfair.domain.board import Succession
    from pytest_factorfair.drawing.statements import declines_changed
    from pytest_factorfair.gates.comparison import changes

    steps = [(index, reports[:index]) for index in range(len(reports))]
    if first and len(reports) > 2:  # noqa: PLR2004  # with two reports, this step exists already
        steps.append((len(reports) - 1, reports[:1]))
    for index, formers in steps:
        later = reports[index]
        unmatched = set(later.summary.fingerprint.models)
        counts = later.counted.counts(later.asked)
        for former in reversed(formers):
            former_models = set(former.summary.fingerprint.models)
            alone = baseline and len(unmatched) == len(former_models) == 1
            matched = unmatched if alone else unmatched & former_models
            unmatched = unmatched - matched
            model_changes = changes(
                [model_counts for model_counts in counts if model_counts.model in matched],
                BaselineCounts(former.counted.counts(later.asked)),
            )
            if model_changes:
                declines = declines_changed(
                    [score for score in former.summary.scores if alone or score.model in matched],
                    [score for score in later.summary.scores if score.model in matched],
                    declines=later.summary.fingerprint.declines,
                )
                former_name, later_name = former.name, later.name
                if alone and former_models != matched:
                    (former_name,), (later_name,) = former_models, matched
                yield Succession(former_name, later_name, model_changes, declines)
