"""``factorfair list [WHAT]``: what can be named on the command line, in gates and in checklists."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import loaded, read_conftest, say
from pytest_factorfair.config.options import CHECKLISTS

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands

Rows = Iterator[tuple[str, str]]


def add(commands: Commands) -> None:
    """Add ``list`` to the commands."""
    parser = commands.add_parser(
        "list", help="list models, checklists, presets, metrics and filters", description=run.__doc__
    )
    parser.add_argument(
        "what", nargs="?", choices=LISTS, metavar="WHAT", help=f"one of {', '.join(LISTS)} (default: all)"
    )
    parser.add_argument(
        "--checklist",
        default=CHECKLISTS["text"],
        metavar="NAME",
        help="list its contexts, metrics and filters; a shipped name or a path (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List models, checklists, presets, and the contexts, metrics and filters of a checklist."""
    read_conftest()
    width = shutil.get_terminal_size().columns
    for name in [arguments.what] if arguments.what else LISTS:
        if not arguments.what:
            say(f"{name}:")
        rows = tuple(LISTS[name](arguments.checklist))
        indent = max((len(word) for word, _ in rows), default=0) + 4
        for word, about in rows:
            lines = textwrap.wrap(about, width - indent) or [""]
            for first, line in zip((word, *[""] * len(lines)), lines, strict=False):
                say(f"  {first:{indent - 2}}{line}".rstrip())
        if not arguments.what:
            say("")


def _models(_: str) -> Rows:
    from pytest_factorfair.models.registry import SCHEMES
    from pytest_factorfair.models.simulated.traits import KINDS

    yield "openai/gpt-4o", "OpenAI, or with base_url= anything that speaks its protocol; text and pictures"
    for scheme in SCHEMES.values():
        makes = " and ".join(
            word for word, module in (("text", scheme.text), ("pictures", scheme.image)) if module
        )
        yield scheme.example, f"{scheme.about}; {makes}"
    yield "", f"respondents of sim: {', '.join(KINDS)}"


def _checklists(_: str) -> Rows:
    from pytest_factorfair import protocols
    from pytest_factorfair.config.settings import PRESETS

    for name in protocols.shipped():
        checklist = protocols.load(name, truth=PRESETS["ci"].truth, base=Path.cwd())
        yield name, checklist.title


def _presets(_: str) -> Rows:
    from pytest_factorfair.config.settings import PRESETS

    for name, preset in PRESETS.items():
        sampling = preset.sampling
        judged = "" if preset.judged else "; gates are not judged"
        sizes = (
            f"{sampling.samples} answers per topic and context",
            f"{sampling.objective} per fact",
            f"{sampling.images} pictures per prompt",
        )
        yield name, f"{', '.join(sizes)}; {sampling.design} design, {preset.truth} truths{judged}"


def _contexts(checklist: str) -> Rows:
    for word in sorted(_words(checklist).get("context", ())):
        yield word, ""


def _metrics(checklist: str) -> Rows:
    from pytest_factorfair.config.settings import PRESETS
    from pytest_factorfair.protocols.registry import of_checklist

    found, _ = loaded(checklist, PRESETS["ci"].truth)
    for name, metric in of_checklist(found).metrics.items():
        yield name, f"{metric.question} ({metric.better} is better)"


def _filters(checklist: str) -> Rows:
    for kind, words in _words(checklist).items():
        yield kind, ", ".join(sorted(words))


def _words(checklist: str) -> Mapping[str, frozenset[str]]:
    """The filters of a run of the checklist's cases that has asked nothing."""
    from pytest_factorfair.config.settings import PRESETS
    from pytest_factorfair.protocols.registry import of_checklist

    preset = PRESETS["ci"]
    found, cases = loaded(checklist, preset.truth)
    measuring = of_checklist(found)
    models = ("any model of the run",)
    counts = measuring.count((), found, tuple(cases.values()), models=models, sampling=preset.sampling)
    return measuring.filters(counts)


LISTS: Mapping[str, Callable[[str], Rows]] = {
    "models": _models,
    "checklists": _checklists,
    "presets": _presets,
    "contexts": _contexts,
    "metrics": _metrics,
    "filters": _filters,
}
