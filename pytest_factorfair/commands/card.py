"""``factorfair card REPORT.json``: a model card from a report, as Markdown and JSON-LD, offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import say, told, write
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.domain import Summary

MARKDOWN = "MODEL_CARD.md"
JSONLD = "model_card.jsonld"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("card", help="a model card of a report", description=__doc__)
    parser.add_argument("report", metavar="REPORT.json")
    parser.add_argument("--model", metavar="MODEL", help="which model, where the report has several")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where to write it (.)")
    parser.set_defaults(run=told(_run))


def _run(arguments: argparse.Namespace) -> None:
    # pydantic and the checklists: not for `factorfair --help`.
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
        raise InputError(f"{path}: it has no model '{chosen}'{nearest(chosen, models)}")
    if len(models) != 1:
        raise InputError(f"{path}: it has {len(models)} models; choose one by --model: {', '.join(models)}")
    return models[0]
