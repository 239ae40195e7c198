"""``factorfair import FORMAT PATH``: convert a copy of a published benchmark, or a log, to a checklist."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import ImportRequest
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.commands.common import (
    Commands,
    add_model_arguments,
    model_arguments,
    read_hooks,
    say,
    write,
)
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_factorfair.benchmarks.asking import Importer

LOG = "log"
"""The format of the logs of other tools."""


def add(commands: Commands) -> None:
    """Add the command ``import``."""
    parser = commands.add_parser(
        "import",
        help="convert another benchmark's published files, or what a log asked, to a checklist",
        description="Convert your own copy of a benchmark's published files, or the questions of a log.",
    )
    parser.add_argument(
        "format", metavar="FORMAT", help="the benchmark, such as bbq, or log; any other word lists them"
    )
    parser.add_argument("path", metavar="PATH", help="the published file, or the folder that they are in")
    parser.add_argument("-o", "--output", metavar="OUT", help="the checklist to write (default: FORMAT.yaml)")
    parser.add_argument(
        "--any-version", action="store_true", help="also read files that differ from the published version"
    )
    parser.add_argument("--partial", action="store_true", help="also read a folder that lacks some files")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the checklist and its items, and print what was written.

    Raises:
        InputError: the format is unknown, or the files cannot be read.
    """
    read_hooks()
    importer_by_format = importers()
    if arguments.format not in importer_by_format:
        raise InputError(
            f"import: unknown format '{arguments.format}'{nearest(arguments.format, importer_by_format)}"
        )
    name = arguments.format.replace("-", "_")
    output = Path(arguments.output or f"{'own_' * (name in shipped())}{name}.yaml")
    if output.suffix != ".yaml":
        raise InputError(f"--output: expected a file that ends in .yaml, got '{output}'")
    # Files keep the spelling that was typed; the names of checklists are words of gates.
    name = output.stem.lower().replace("-", "_")
    if not re.fullmatch(r"[a-z0-9_]*[a-z0-9][a-z0-9_]*", name):
        raise InputError(
            f"--output: the name of a checklist is made of letters a-z, digits, _ and -, got '{output.stem}'"
        )
    if name in shipped():
        raise InputError(f"--output: '{name}' is a shipped checklist; choose another name, such as own.yaml")
    if arguments.model_arg and arguments.format != LOG:
        raise InputError(f"--model-arg: only a log has arguments, and {arguments.format} is a benchmark")
    request = ImportRequest(
        Path(arguments.path),
        name,
        output.stem,
        arguments.any_version,
        arguments.partial,
        model_arguments(arguments),
    )
    imported = importer_by_format[arguments.format](request)
    try:
        contents = {file: content.encode() for file, content in imported.files.items()}
    except UnicodeEncodeError:
        raise InputError(f"{arguments.path}: has half a character, which is not Unicode text") from None
    for note in imported.notes:
        say(note)
    for file, content in contents.items():
        say(f"wrote {write(output.parent / file, content)}")
    if arguments.format == LOG:
        asking = [
            f"--factorfair-model=replay:{arguments.path}",
            *(f"--factorfair-model-arg={argument}" for argument in arguments.model_arg),
            f"--factorfair-checklist={output}",
        ]
        gates = ["--factorfair-gate=default"] * imported.gated
        say(f"to {'judge' if gates else 'report on'} the log: {shlex.join(['pytest', *asking, *gates])}")


def importers() -> Mapping[str, Importer]:
    """The importers of every benchmark, by format."""
    from pytest_factorfair.benchmarks import benchmarks

    return {
        name: importer
        for benchmark in benchmarks().values()
        for name, importer in benchmark.importers().items()
    }
