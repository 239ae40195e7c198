"""``factorfair evidence REPORT -o DIR``: write a report in the formats that other tools read, offline."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import Commands, read_hooks, say, write
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.domain import Summary

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


def add(commands: Commands) -> None:
    """Add the command ``evidence``."""
    parser = commands.add_parser(
        "evidence",
        help="write a report for other tools, with digests",
        description="Write a finished report for other tools: as records of Every Eval Ever, as an in-toto "
        "test result to sign, and as a page with the digest of every file. Nothing is asked or uploaded.",
    )
    parser.add_argument("report", metavar="REPORT", help="the report of a run, or its folder")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="target folder")
    parser.add_argument("--model", metavar="SPEC", help="export this model only")
    parser.add_argument(
        "--instances", action="store_true", help="export the replies to questions with a right answer, too"
    )
    parser.add_argument("--hub-id", metavar="OWNER/NAME", help="the model's id on the Hugging Face Hub")
    parser.add_argument(
        "--hub",
        action="append",
        default=[],
        metavar="OWNER/NAME/TASK=SCORE",
        help="report a score for a task of a benchmark dataset on the Hub (repeatable); SCORE is such as "
        "CHECKLIST.s_fact.objective.gender",
    )
    parser.add_argument("--organization", default="unknown", metavar="NAME", help="who ran the evaluation")
    parser.add_argument(
        "--relationship",
        choices=RELATIONSHIPS,
        default="other",
        metavar="WORD",
        help=f"its relationship to the model's developer: {', '.join(RELATIONSHIPS)} (other)",
    )
    parser.add_argument("--incomplete", action="store_true", help="accept the report of an unfinished run")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    # Lazy: these import numpy, pydantic and the scores, which `factorfair --help` does not need.
    from pytest_factorfair.exports import evidence
    from pytest_factorfair.exports.evidence.every_eval_ever import Evaluator
    from pytest_factorfair.exports.evidence.exported import replies
    from pytest_factorfair.exports.evidence.hub_results import HubTask
    from pytest_factorfair.reports import json_report

    tasks = [HubTask.parse(text) for text in arguments.hub]
    if arguments.hub_id is not None and not HUB_ID.fullmatch(arguments.hub_id):
        raise InputError(f"--hub-id: expected OWNER/NAME, got '{arguments.hub_id}'")
    read_hooks()
    path = json_report.located(arguments.report)
    with json_report.opened(path, name=path) as report:
        summary = json_report.summary(report, [json_report.record(row) for row in report["cases"]])
        _check_choice(arguments, summary, path)
        recomputed = evidence.check(summary, report, name=path)
        exported = None
        if arguments.instances:
            file = json_report.replies_file(path)
            where = f"{path}: its replies are in {file}"
            exported = replies(summary, json_report.replies(file, where=where), where=where)
        evaluator = Evaluator(arguments.organization, arguments.relationship)
        content = evidence.evidence(
            summary,
            json_report.content(path, name=path),
            evidence.Publication(evaluator, arguments.model, arguments.hub_id, tasks),
            replies=exported,
            recomputed=recomputed,
        )
    folder = Path(arguments.output)
    _check_folder(folder, set(content.files))
    for name, written in content.files.items():
        say(f"wrote {write(folder / name, written)}")
    for line in content.lines:
        say(line)


def _check_choice(arguments: argparse.Namespace, summary: Summary, path: str) -> None:
    """Check that the report has the model to export, and that its run finished, unless that is waived.

    Raises:
        InputError: it names what to do.
    """
    models = tuple(summary.fingerprint.models)
    if arguments.model is not None and arguments.model not in models:
        raise InputError(
            f"{path}: no model '{arguments.model}' in this report{nearest(arguments.model, models)}"
        )
    if (arguments.hub or arguments.hub_id) and arguments.model is None and len(models) > 1:
        raise InputError(f"{path}: --hub is about one model; choose it with --model: {', '.join(models)}")
    if summary.incomplete and not arguments.incomplete:
        raise InputError(
            f"{path}: not a finished run ({summary.incomplete}); --incomplete writes evidence that says so"
        )


def _check_folder(folder: Path, files: set[str]) -> None:
    """Refuse a folder with other files: the page lists the digests of all that is in it.

    Raises:
        InputError: the folder has other files.
    """
    if not folder.is_dir():
        return
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if others := sorted(present - files):
        raise InputError(f"{folder}: it has other files, such as {others[0]}; name a new folder")
