"""``factorfair prompts [CASE...]``: print what a run would ask, without a model."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import (
    Commands,
    add_model_arguments,
    from_hooks,
    model_arguments,
    read_hooks,
    say,
)
from pytest_factorfair.commands.show import selects, suggestion
from pytest_factorfair.config.settings import PRESETS, resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.domain import Query, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.runs.extensions import MODELS
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.domain import Case, Checklist

TEXT, LINES, BATCH = FORMATS = ("text", "jsonl", "batch")

SHOWN = 1
"""Prompts of a case that the text shows unless more are asked for."""

ANY_MODEL = "sim:ideal"
"""For settings, which need a model; it is never built."""


def add(commands: Commands) -> None:
    """Add the command ``prompts``."""
    parser = commands.add_parser(
        "prompts",
        help="print what a run would ask",
        description="Print what a run with these settings would ask first. Nothing is asked. Settings that "
        "are not given are those of the environment and of pyproject.toml.",
    )
    parser.add_argument("words", nargs="*", metavar="CASE", help="ids of cases, or parts of ids (all cases)")
    parser.add_argument(
        "--checklist", action="append", metavar="NAME|PATH", help="as --factorfair-checklist; may be repeated"
    )
    parser.add_argument(
        "--preset", choices=PRESETS, metavar="PRESET", help=f"one of {', '.join(PRESETS)}, as for a run"
    )
    parser.add_argument("--samples", metavar="N[,...]", help="as --factorfair-samples")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=TEXT,
        metavar="FORMAT",
        help="text; jsonl, for pictures the manifest of a folder; or batch, OpenAI's requests of --model",
    )
    parser.add_argument("--model", metavar="SPEC", help="with --format=batch: a model, such as openai/gpt-4o")
    add_model_arguments(parser)
    parser.add_argument(
        "-n",
        type=int,
        default=SHOWN,
        metavar="N",
        help=f"prompts per case that the text shows ({SHOWN}; 0 for all)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the prompts.

    Raises:
        InputError: there is no such checklist or case, or the model takes no batches.
    """
    from pytest_factorfair import benchmarks
    from pytest_factorfair.runs.composing import load

    read_hooks()
    if arguments.n < 0:
        raise InputError(f"-n: expected 0 or more, got {arguments.n}")
    settings = _settings(arguments)
    checklists = load(settings)
    modality = checklists[0].modality
    if modality == "image" and arguments.format == BATCH:
        raise InputError("--format batch: batches answer with text, not with pictures; use text or jsonl")
    sampling = settings.sampling.of(modality)
    cases = [(checklist, case) for checklist in checklists for case in benchmarks.cases(checklist, sampling)]
    selected = _selected(arguments.words, cases)
    request = _request(arguments, settings, checklists) if arguments.format == BATCH else None
    for checklist, case in selected:
        queries = benchmarks.queries(checklist, case, sampling)
        digits = len(str(len(queries)))
        files = [f"{case.id}/{number:0{digits}}.png" for number in range(1, len(queries) + 1)]
        case_id = f"{checklist.name}-{case.id}" if len(checklists) > 1 else case.id
        if arguments.format == TEXT:
            _show(case_id, queries, files if modality == "image" else (), arguments.n)
            continue
        for number, (query, file) in enumerate(zip(queries, files, strict=True), 1):
            if request is not None:
                sys.stdout.write(request(f"{case_id}-{number}", query))
                continue
            head = {"file": file} if modality == "image" else {"checklist": checklist.name, "case": case.id}
            line = {**head, "prompt": query.prompt, "repeat": query.repeat}
            sys.stdout.write(f"{json.dumps(line, ensure_ascii=False)}\n")


def _settings(arguments: argparse.Namespace) -> Settings:
    """The settings of a run with these arguments."""
    here = Path.cwd()
    typed = {
        option: OptionValue(value, f"--{option}", here)
        for option in ("checklist", "preset", "samples")
        if (value := getattr(arguments, option)) is not None
    }
    typed["model"] = OptionValue([arguments.model or ANY_MODEL], "--model", here)
    return resolve(typed, os.environ, root=here, here=here)


def _selected(
    words: Sequence[str], cases: Sequence[tuple[Checklist, Case]]
) -> Iterator[tuple[Checklist, Case]]:
    """The cases that one of the words names, or all without words.

    Raises:
        InputError: a word names none.
    """
    ids = [case.id for _, case in cases]
    for word in words:
        if not any(selects(word, case_id) for case_id in ids):
            raise InputError(f"prompts: there is no case '{word}'{suggestion(word, ids)}")
    return (
        (checklist, case)
        for checklist, case in cases
        if not words or any(selects(word, case.id) for word in words)
    )


def _show(case: str, queries: Sequence[Query], files: Sequence[str], most: int) -> None:
    """Print the first prompts of a case; for pictures, the files that answer them."""
    say(f"{case}: {plural(len(queries), 'picture' if files else 'prompt')}")
    shown = dict.fromkeys(query.prompt for query in queries)
    for prompt in list(shown)[: most or len(shown)]:
        of_prompt = [number for number, query in enumerate(queries) if query.prompt == prompt]
        if files:
            first, last = files[of_prompt[0]], files[of_prompt[-1]]
            say(f"  {first}{f' to {last}' if last != first else ''}")
        for line in prompt.splitlines():
            say(f"  {line}".rstrip())
    say("")


def _request(
    arguments: argparse.Namespace, settings: Settings, checklists: tuple[Checklist, ...]
) -> Callable[[str, Query], str]:
    """A function from an id and a query to the line of a batch: the request that a run would send.

    Raises:
        InputError: no model is named, or it is not a service with batches.
    """
    from pytest_factorfair import models
    from pytest_factorfair.domain import Request

    if arguments.model is None:
        raise InputError("--format batch: name the model with --model, such as openai/gpt-4o")
    model = models.build(
        arguments.model,
        {**settings.model_arguments, **model_arguments(arguments)},
        checklists=checklists,
        custom=from_hooks(MODELS),
        answers=settings.answers,
        asked=False,
        folder=Path(),
    )
    body = getattr(model, "body", None)
    if body is None:
        raise InputError(f"--model {arguments.model}: not a service with batches; use --format jsonl")
    wing = Wing.OPENAI_BATCHES.enter()

    def line(custom_id: str, query: Query) -> str:
        encoded: bytes = wing.request_line(wing.BatchLine(custom_id, body(Request.of(query))), wing.Dialect())
        return encoded.decode()

    return line
