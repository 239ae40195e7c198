"""``factorfair doctor SPEC``: test with a few calls whether and how a model can be tested."""

from __future__ import annotations

import argparse
import sys
import tempfile

from pytest_factorfair.commands.common import (
    Commands,
    add_model_arguments,
    from_conftest,
    loaded,
    model_arguments,
    say,
)

NOT_READY = 1

WIDTH = len("probabilities")
"""The width of the column of observations' names."""


def add(commands: Commands) -> None:
    """Add ``doctor`` to the commands."""
    parser = commands.add_parser(
        "doctor", help="ask a model one question in every possible way", description=run.__doc__
    )
    parser.add_argument("spec", metavar="SPEC", help="a model, as for --factorfair-model")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask a model one question in every possible way, and show which of them it supports.

    Exit code 1 if a run could not test it: it cannot be reached, or its reply cannot be parsed.
    """
    from pytest_factorfair import benchmarks, models
    from pytest_factorfair.config.options import CHECKLISTS
    from pytest_factorfair.config.settings import PRESETS
    from pytest_factorfair.runs.examination import Examination
    from pytest_factorfair.store import Store

    typed_arguments = model_arguments(arguments)
    custom = from_conftest("pytest_factorfair_models")
    preset = PRESETS["ci"]
    checklist, cases = loaded(CHECKLISTS[models.modality(arguments.spec)], preset.truth)
    query = benchmarks.queries(checklist, next(reversed(cases.values())), preset.sampling)[0]
    code = 0
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/doctor.sqlite") as store:
        examination = Examination(arguments.spec, typed_arguments, checklist, query, store, custom, _progress)
        for observation in examination.observations():
            _progress("")
            say(f"{observation.name:{WIDTH}}  {observation.finding}")
            sys.stdout.flush()
            code = NOT_READY if observation.fatal else code
    return code


def _progress(message: str) -> None:
    """Show the current step on a line of the terminal; the next step replaces it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{message and f'{message} ...'}")
        sys.stderr.flush()
