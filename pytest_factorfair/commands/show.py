"""``factorfair show [REPORT] CASE...``: print questions of a run with their replies, offline."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pytest_factorfair.commands.common import Commands, say
from pytest_factorfair.errors import InputError, nearest

SHOWN = 5
"""Replies per case that are shown unless more are asked for."""

Reply = Mapping[str, Any]
"""A line of responses.jsonl."""


def add(commands: Commands) -> None:
    """Add the command ``show``."""
    parser = commands.add_parser(
        "show",
        help="print questions of a run with their replies",
        description="Print questions of a run with their replies, as its report has them. Nothing is asked.",
    )
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[REPORT] CASE",
        help="the report's file or folder (.factorfair/report); ids of cases, or the beginnings of ids",
    )
    parser.add_argument(
        "-n",
        type=int,
        default=SHOWN,
        metavar="N",
        help=f"replies per case, those without an answer first ({SHOWN}; 0 for all)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.config.settings import DEFAULT_REPORT
    from pytest_factorfair.reports import json_report

    if arguments.n < 0:
        raise InputError(f"-n: expected 0 or more, got {arguments.n}")
    first, *others = arguments.words
    is_report = Path(first).exists() or first.endswith((".json", ".json.gz"))
    report, words = (first, others) if is_report else (DEFAULT_REPORT, arguments.words)
    if not words:
        raise InputError(f"{report}: name a case of it to show, or the beginning of its id")
    file = Path(json_report.located(report)).with_name(json_report.RESPONSES)
    if not file.exists() and (compressed := file.with_name(json_report.COMPRESSED)).exists():
        file = compressed
    ids: dict[str, None] = {}
    replies: dict[tuple[str, str, str], list[Reply]] = {}
    for reply in json_report.replies(file, where=f"{report}: its replies are in {file}"):
        case = str(reply["case"])
        ids[case] = None
        if any(_selects(word, case) for word in words):
            replies.setdefault((case, reply["model"], reply["checklist"]), []).append(reply)
    for word in words:
        if not any(_selects(word, case) for case in ids):
            parts = {case.partition("-")[0] for case in ids}
            names = [*ids] if get_close_matches(word, ids, n=1) else sorted(parts)  # a report has hundreds
            raise InputError(f"{report}: it has no case '{word}'{nearest(word, names)}")
    for about, of_case in replies.items():
        _show(about, of_case, arguments.n or len(of_case))


def _selects(word: str, case: str) -> bool:
    """Whether a word is the id of a case or the beginning of it, up to a hyphen."""
    return case == word or case.startswith(f"{word.removesuffix('-')}-")


def _show(about: tuple[str, str, str], replies: Sequence[Reply], most: int) -> None:
    """The numbers of a case's answers, then its questions with their replies."""
    case, model, checklist = about
    counts = Counter(map(_reading, replies))
    say(f"{case} ({model} on {checklist})")
    say(", ".join(f"{reading}: {count:,}" for reading, count in counts.most_common()))
    by_question: dict[str | None, list[Reply]] = {}
    for reply in sorted(replies, key=lambda reply: reply["outcome"] == "answered")[:most]:
        by_question.setdefault(reply["prompt"], []).append(reply)
    for prompt, to_prompt in by_question.items():
        say("")
        _indented((prompt or "(the store does not have the question)").splitlines())
        for reply in to_prompt:
            text = (reply["response"] or {}).get("text") or reply.get("reason") or "no reply"
            _indented([f"-> {' '.join(text.split())}  [{_reading(reply)}]"])
    if len(replies) > most:
        say("")
        say(f"  {len(replies) - most:,} more: -n 0")
    say("")


def _indented(lines: Iterable[str]) -> None:
    for line in lines:
        say(f"  {line}")


def _reading(reply: Reply) -> str:
    """How a reply was read: the groups it names, or why it names none."""
    if reply["outcome"] == "answered":
        return ", ".join(reply.get("groups", {}).values()) or str(reply.get("letter"))
    return f"{reply['outcome']} ({reply['reason']})" if reply.get("reason") else str(reply["outcome"])
