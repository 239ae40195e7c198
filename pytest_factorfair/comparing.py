"""``factorfair compare A.json B.json``: what changed from one report to another, offline."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from pytest_factorfair.commands import FAINTBENCH, every_prompt, faintbench, same_content
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.baseline import Baseline
    from pytest_factorfair.domain import Change, Faintbench, PromptCase

REGRESSED = 1
WRONG_INPUT = 4


def add(commands: Any) -> None:
    """Add the command; its exit code is 1 where something regressed, 4 where nothing can be compared."""
    parser = commands.add_parser("compare", help="what changed between two reports", description=__doc__)
    parser.add_argument("former", metavar="A.json", help="the former report")
    parser.add_argument("new", metavar="B.json", help="the new report")
    parser.add_argument(
        "--checklist",
        default=FAINTBENCH,
        metavar="NAME|PATH",
        help=f"that of FAIntbench's pictures ({FAINTBENCH})",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_factorfair.reports.changes import changes_text

    try:
        found = compare(arguments.former, arguments.new, checklist=arguments.checklist)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_INPUT
    sys.stdout.write(changes_text(found) + "\n")
    return REGRESSED if any(change.regressed for change in found) else 0


def compare(former: str, new: str, *, checklist: str = FAINTBENCH) -> tuple[Change, ...]:
    """What changed from the former report to the new one; pictures of FAIntbench are of this checklist.

    Raises:
        InputError: a file that is no report, or two that cannot be compared.
    """
    # numpy and the scores: not for `factorfair --help`.
    from pytest_factorfair import baseline
    from pytest_factorfair.gates import changes

    before, after = (baseline.read(path, name=path) for path in (former, new))
    baseline.comparable(before, after.fingerprint)
    prompts = _prompts(after, new, checklist) if after.pictured else ()
    hung = [one for each, cases in prompts for one in after.hang(each, cases)]
    found = changes(after.tallies, before.former(after.records, prompts), galleries=hung)
    if not found:
        raise InputError(f"{former} and {new}: they have no score in common")
    return found


def _prompts(
    report: Baseline, where: str, name: str
) -> tuple[tuple[Faintbench, tuple[PromptCase, ...]], ...]:
    """The checklist of a report's pictures, and the prompts of it that were asked."""
    checklist = faintbench(name, report.fingerprint["truth"])
    same_content(where, report.fingerprint["checklists"].get(checklist.name), checklist)
    asked = {record.case.case for record in report.records if record.case.checklist == checklist.name}
    return ((checklist, tuple(case for id_, case in every_prompt(checklist).items() if id_ in asked)),)
