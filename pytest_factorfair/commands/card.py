"""``factorfair card REPORT.json``: write a model card from a report, as Markdown and JSON-LD, offline."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_factorfair.commands.common import Commands, read_hooks, say, write
from pytest_factorfair.errors import InputError, nearest

MARKDOWN = "MODEL_CARD.md"
JSONLD = "model_card.jsonld"


def add(commands: Commands) -> None:
    """Add the command ``card``."""
    parser = commands.add_parser(
        "card",
        help="write a model card from a report",
        description="Write a model card from a report, as Markdown and JSON-LD.",
    )
    parser.add_argument("report", metavar="REPORT.json", help="the report of a run")
    parser.add_argument("--model", metavar="MODEL", help="the model, if the report has several")
    parser.add_argument(
        "--hub",
        metavar="NAME",
        help="add the front matter of a Hugging Face model card, with every score as an evaluation result of "
        "the model NAME (extra hub; nothing is uploaded without --push)",
    )
    parser.add_argument(
        "--push",
        action="store_true",
        help="with --hub: open a pull request on the Hub that adds the card to the model's README.md",
    )
    parser.add_argument(
        "-o",
        "--output",
        default=".",
        metavar="DIR|FILE.md",
        help="target folder (.), or the file of the card; the JSON-LD is beside it",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    # Lazy: these import pydantic and the checklists, which `factorfair --help` does not need.
    from pytest_factorfair.benchmarks import sources
    from pytest_factorfair.exports import card
    from pytest_factorfair.reports import json_report

    if arguments.push and not arguments.hub:
        raise InputError("--push needs --hub NAME, the model whose card it is")
    read_hooks()
    path, model = arguments.report, arguments.model
    summary = json_report.read(path, name=path)
    models = tuple(summary.fingerprint.models)
    if model is None:
        if len(models) != 1:
            raise InputError(
                f"{path}: the report has {len(models)} models; choose one with --model: {', '.join(models)}"
            )
        model = models[0]
    if model not in models:
        raise InputError(f"{path}: no model '{model}' in this report{nearest(model, models)}")
    asked = {record.case.checklist for record in summary.cases if record.question.statistic}
    checklists = summary.fingerprint.checklists.items()
    model_card = card.of(
        summary, model, {name: sources(name, digest) for name, digest in checklists if name in asked}
    )
    front = card.front_matter(model_card, arguments.hub) if arguments.hub else ""
    output = Path(arguments.output)
    target, jsonld = output / MARKDOWN, output / JSONLD
    if output.suffix == ".md":
        target, jsonld = output, output.with_suffix(".jsonld")
    say(write(target, front + card.to_markdown(model_card)))
    say(write(jsonld, card.to_jsonld(model_card)))
    if arguments.push:
        say(card.push(model_card, arguments.hub))
