"""``factorfair card REPORT.json``: a model card from a report, as Markdown and JSON-LD, offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import one_line_errors, say, write
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.domain import Summary

MARKDOWN = "MODEL_CARD.md"
JSONLD = "model_card.jsonld"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("card", help="write a model card from a report", description=__doc__)
    parser.add_argument("report", metavar="REPORT.json")
    parser.add_argument("--model", metavar="MODEL", help="the model, if the report has several")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="target folder (.)")
    parser.set_defaults(run=one_line_errors(_run))


def _run(arguments: argparse.Namespace) -> None:
    # These import pydantic and the checklists, which `factorfair --help` does not need.
    from pytest_factorfair.protocols import sources
    from pytest_factorfair.reports import card, json_report

    summary = json_report.read(arguments.report, name=arguments.report)
    checklists = summary.fingerprint.checklists.items()
    asked = {one.checklist for one in summary.topics}
    found = {name: sources(name, digest) for name, digest in checklists if name in asked}
    made = card.of(summary, _model(summary, arguments.model, arguments.report), found)
    for name, text in ((MARKDOWN, card.to_markdown(made)), (JSONLD, card.to_jsonld(made))):
        say(write(Path(arguments.output) / name, text))


def _model(summary: Summary, chosen: str | None, path: str) -> str:
    models = tuple(summary.fingerprint.models)
    if chosen in models:
        return str(chosen)
    if chosen is not None:
        raise InputError(f"{path}: no model '{chosen}' in this report{nearest(chosen, models)}")
    if len(models) != 1:
        raise InputError(
            f"{path}: the report has {len(models)} models; choose one with --model: {', '.join(models)}"
        )
    return models[0]
