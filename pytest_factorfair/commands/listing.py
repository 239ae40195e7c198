"""``factorfair list [LIST]``: list the words for the command line, for gates and for conditions."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pytest_factorfair.commands.common import Commands, loaded, read_hooks, say
from pytest_factorfair.config.options import CHECKLISTS

LISTS = ("models", "checklists", "presets", "statistics", "contexts", "metrics", "filters", "conditions")


def add(commands: Commands) -> None:
    """Add the command ``list``."""
    parser = commands.add_parser(
        "list",
        help="list models, checklists, presets, metrics, filters and conditions",
        description=run.__doc__,
    )
    parser.add_argument(
        "what", nargs="?", choices=LISTS, metavar="LIST", help=f"one of {', '.join(LISTS)} (default: all)"
    )
    parser.add_argument(
        "--checklist",
        default=CHECKLISTS["text"],
        metavar="NAME",
        help="list its statistics, contexts, metrics, filters and conditions; a shipped name or a path "
        "(default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List models, checklists, presets, and the statistics, contexts, metrics and filters of a checklist.

    Conditions are the words for ``when=`` of a simulated respondent.
    """
    read_hooks()
    width = shutil.get_terminal_size().columns
    for name in [arguments.what] if arguments.what else LISTS:
        if not arguments.what:
            say(f"{name}:")
        rows = tuple(_rows(name, arguments.checklist))
        indent = max((len(word) for word, _ in rows), default=0) + 4
        for word, about in rows:
            lines = textwrap.wrap(about, width - indent, break_on_hyphens=False) or [""]
            for label, line in zip((word, *[""] * len(lines)), lines, strict=False):
                say(f"  {label:{indent - 2}}{line}".rstrip())
        if not arguments.what:
            say("")


def _rows(name: str, checklist: str) -> Iterator[tuple[str, str]]:
    """The rows of a list: words and their meanings."""
    # Lazy: these import numpy and the checklists, which `factorfair --help` does not need.
    from pytest_factorfair import benchmarks
    from pytest_factorfair.benchmarks.measuring import filter_words
    from pytest_factorfair.config.settings import PRESETS
    from pytest_factorfair.models.simulated.traits import vocabulary

    preset = PRESETS["ci"]
    match name:
        case "models":
            yield from _models()
        case "checklists":
            for checklist_name in benchmarks.shipped():
                yield (
                    checklist_name,
                    benchmarks.load(checklist_name, truth=preset.truth, base=Path.cwd()).title,
                )
        case "presets":
            yield from _presets()
        case "statistics":  # which not every benchmark has
            statistics = getattr(loaded(checklist, preset.truth)[0], "statistics", ())
            yield from ((statistic.id, statistic.definition) for statistic in statistics)
        case "metrics":
            benchmark = benchmarks.benchmark_of(loaded(checklist, preset.truth)[0])
            for word, metric in benchmark.metrics.items():
                yield word, f"{metric.question} ({metric.best})"
        case "conditions":
            offered = vocabulary((loaded(checklist, preset.truth)[0],))
            yield from ((condition, ", ".join(sorted(words))) for condition, words in offered.items())
        case _:  # contexts and filters come from the counts of a run of all cases, without answers
            loaded_checklist, cases = loaded(checklist, preset.truth)
            models = ("any model of the run",)
            benchmark = benchmarks.benchmark_of(loaded_checklist)
            all_cases = tuple(cases.values())
            counts = benchmark.count((), loaded_checklist, all_cases, models=models, sampling=preset.sampling)
            filters = filter_words(counts)
            if name == "contexts":
                yield from ((word, "") for word in sorted(filters.get("context", ())))
            else:
                yield from ((kind, ", ".join(sorted(words))) for kind, words in filters.items())


def _presets() -> Iterator[tuple[str, str]]:
    """The sizes, design and truth set of each preset."""
    from pytest_factorfair.benchmarks.canary import BASELINE_REPEATS
    from pytest_factorfair.config.settings import CANARY, PRESETS

    for word, preset in PRESETS.items():
        sampling = preset.sampling
        if word == CANARY:
            yield word, f"{sampling.repeats} answers per question; {BASELINE_REPEATS} in the first run"
            continue
        sizes = (
            f"{sampling.samples} answers per topic and context",
            f"{sampling.objective} per fact",
            f"{sampling.images} pictures per prompt",
        )
        how = f"{sampling.design} design, {preset.truth} truths"
        judged = "" if preset.judged else "; gates are not judged"
        yield word, f"{', '.join(sizes)}; {how}{judged}"


def _models() -> Iterator[tuple[str, str]]:
    """An example of each kind of model, and the simulated respondents."""
    from pytest_factorfair.models.registry import SCHEMES
    from pytest_factorfair.models.simulated.traits import KINDS, OPTIONS

    protocol = "OpenAI, or with base_url= anything that speaks its protocol"
    yield "openai/gpt-4o", f"{protocol}; text and pictures"
    for scheme in SCHEMES.values():
        makes = {"text": scheme.text, "pictures": scheme.image}
        modalities = [word for word, module in makes.items() if module]
        yield scheme.example, f"{scheme.about}; {' and '.join(modalities)}"
    for kind, archetype in KINDS.items():
        yield f"sim:{kind}", archetype.about
    for option, about in OPTIONS.items():
        yield f"sim:{option}", about
