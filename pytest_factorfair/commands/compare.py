"""``factorfair compare REPORT.json ...``: compare models, and show what changed between reports, offline."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_factorfair.commands.common import (
    WRONG_INPUT,
    loaded,
    same_content,
    write,
)
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.domain import Case, Checklist, Leaderboard, Succession, Summary
    from pytest_factorfair.protocols.measurement import Contender
    from pytest_factorfair.session.baseline import Baseline

    Asked: TypeAlias = tuple[tuple[Checklist, tuple[Case, ...]], ...]

REGRESSED = 1


def add(commands: Commands) -> None:
    """Add the command; its exit code is 1 if something regressed, 4 if nothing can be compared."""
    parser = commands.add_parser("compare", help="compare models and reports", description=__doc__)
    parser.add_argument("reports", nargs="+", metavar="REPORT.json", help="reports, oldest first")
    parser.add_argument("--teacher", metavar="MODEL", help="compare every other model with this one")
    parser.add_argument(
        "--checklist",
        metavar="NAME|PATH",
        help="a checklist of the reports whose answers are counted again, if it is not a shipped one",
    )
    parser.add_argument("--format", choices=("text", "markdown", "html"), default="text", dest="form")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of the terminal")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_factorfair.reports.leaderboard import FORMS

    try:
        found = compare(arguments.reports, teacher=arguments.teacher, checklist=arguments.checklist)
        _put(FORMS[arguments.form](found), arguments.output)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_INPUT
    return REGRESSED if found.regressed else 0


def _put(text: str, path: str | None) -> None:
    if path is None:
        sys.stdout.write(text)
        return
    write(Path(path), text)


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A report as it is compared; ``place`` counts from 1, ``asked`` are the cases to count again."""

    place: int
    path: str
    counted: Baseline
    summary: Summary
    asked: Asked = ()

    def __str__(self) -> str:
        told = self.summary.fingerprint
        asked = f"{told.preset} preset, {', '.join(told.checklists)}, {told.times.get('started', '')[:10]}"
        missing = f"; NOT JUDGED: {self.summary.incomplete}" if self.summary.incomplete else ""
        return f"report {self.place}: {self.path} ({asked}){missing}"


def compare(paths: Sequence[str], *, teacher: str | None = None, checklist: str | None = None) -> Leaderboard:
    """The models of all reports on the scores they share, and what changed from report to report.

    Answers whose counts the reports do not hold are counted again with this checklist, by name or path, or
    with the shipped one.

    Raises:
        InputError: a file that is no report, ones that cannot be compared, or a teacher that none has.
    """
    # numpy and the scores: not for `factorfair --help`.
    from pytest_factorfair.domain import Leaderboard
    from pytest_factorfair.gates import boards

    reports = _read(paths, checklist)
    contenders = tuple(_contenders(reports))
    if len(contenders) < 2:  # noqa: PLR2004  # it takes two
        raise InputError(f"{paths[0]}: the report has one model; give another report to compare it with")
    names = tuple(contender.name for contender in contenders)
    if teacher is not None and teacher not in names:
        raise InputError(f"--teacher {teacher}: not one of the compared models{nearest(teacher, names)}")
    found, followed = boards(contenders), tuple(_successions(reports))
    if not found and not followed:
        raise InputError(f"{' and '.join(paths)}: they have no score in common")
    return Leaderboard(
        models=names,
        reports=tuple(map(str, reports)),
        boards=found,
        successions=followed,
        notes=tuple(_notes(reports)),
        perceived=bool(reports[0].summary.fingerprint.detector),
        complete=not any(report.summary.incomplete for report in reports),
        teacher=teacher,
    )


def _notes(reports: Sequence[Report]) -> Iterator[str]:
    """What reads the pictures, and where boards say something else than the reports."""
    from pytest_factorfair.reports.statements import detector_lines

    yield from detector_lines(reports[0].summary)
    told = [report.summary.fingerprint for report in reports]
    if told[0].estimator != "corrected":
        yield f"scores are estimated anew, without bias: the estimator of the reports is {told[0].estimator}"
    if any(one.interval == "scenarios" for one in told):
        yield "intervals and differences are those of these scenarios, not of scenarios in general"


def _read(paths: Sequence[str], checklist: str | None) -> list[Report]:
    """All reports; each can be compared with the first."""
    from pytest_factorfair.reports import json_report
    from pytest_factorfair.session import baseline

    reports = [
        Report(place, path, baseline.read(path, name=path), json_report.read(path, name=path))
        for place, path in enumerate(paths, 1)
    ]
    for report in reports[1:]:
        baseline.comparable(reports[0].counted, report.counted.fingerprint)
    uncounted = next((report for report in reports if report.counted.uncounted), None)
    if uncounted is None:
        return reports
    known = tuple(_known(uncounted, checklist))
    return [
        replace(report, asked=tuple((one, _asked(report, one.name, cases)) for one, cases in known))
        for report in reports
    ]


def _known(uncounted: Report, given: str | None) -> Iterator[tuple[Checklist, dict[str, Case]]]:
    """The checklists of a report that does not hold their counts, with every case by its id."""
    from pytest_factorfair.protocols import shipped

    fingerprint = uncounted.counted.fingerprint
    wanted = list(uncounted.counted.uncounted)
    if given is not None:
        checklist, cases = loaded(given, fingerprint["truth"])
        same_content(uncounted.path, fingerprint["checklists"].get(checklist.name), checklist)
        wanted = [name for name in wanted if name != checklist.name]
        yield checklist, cases
    for name in wanted:
        if name not in shipped():
            raise InputError(
                f"{uncounted.path}: its answers to checklist '{name}' must be counted again; "
                "give the checklist's file with --checklist"
            )
        checklist, cases = loaded(name, fingerprint["truth"])
        same_content(uncounted.path, fingerprint["checklists"].get(name), checklist)
        yield checklist, cases


def _asked(report: Report, checklist: str, known: Mapping[str, Case]) -> tuple[Case, ...]:
    asked = {one.case.case for one in report.counted.records if one.case.checklist == checklist}
    return tuple(case for id_, case in known.items() if id_ in asked)


def _contenders(reports: Sequence[Report]) -> Iterator[Contender]:
    """Every model of every report; one that is in several is called by its report, too."""
    from pytest_factorfair.protocols.measurement import Contender

    times = Counter(model for report in reports for model in report.counted.fingerprint["models"])
    common = _common(reports)
    for report in reports:
        counted = report.counted
        counts = counted.counts(common if counted.uncounted else ())
        for model in report.summary.fingerprint.models:
            yield Contender(
                name=model if times[model] == 1 else f"{model} (report {report.place})",
                counts=tuple(one for one in counts if one.model == model),
                records=tuple(one for one in counted.records if one.case.model == model),
                scores=tuple(one for one in report.summary.scores if one.model == model),
            )


def _common(reports: Sequence[Report]) -> Asked:
    """The cases to count again that all such reports asked."""
    again = [report.asked for report in reports if report.counted.uncounted]
    return tuple(
        (asked[0][0], tuple(case for case in asked[0][1] if all(case in cases for _, cases in asked)))
        for asked in zip(*again, strict=True)
    )


def _successions(reports: Sequence[Report]) -> Iterator[Succession]:
    """From each report to the next that has a model of it; two reports of one model each are about it."""
    from pytest_factorfair.domain import Succession
    from pytest_factorfair.gates import changes

    for place, later in enumerate(reports):
        left = set(later.summary.fingerprint.models)
        counts = later.counted.counts(later.asked)
        for former in reversed(reports[:place]):
            known = set(former.summary.fingerprint.models)
            alone = len(reports) == 2 and len(left) == len(known) == 1  # noqa: PLR2004  # this and the other
            chosen = left if alone else left & known
            left = left - chosen
            found = changes(
                [one for one in counts if one.model in chosen],
                former.counted.former(later.counted.records, later.asked),
            )
            if found:
                yield Succession(former.path, later.path, found)
