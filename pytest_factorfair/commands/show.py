"""``factorfair show [REPORT] NAME...``: print answers of a run, and questions with their replies, offline."""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from pytest_factorfair.commands.common import Commands, say
from pytest_factorfair.config.settings import DEFAULT_REPORT
from pytest_factorfair.domain import listed, plural
from pytest_factorfair.errors import InputError, nearest

SHOWN = 2
"""Replies per name that are shown unless more are asked for."""

SUGGESTED = 3
"""Names that a message about a wrong name suggests."""

Reply = Mapping[str, Any]
"""A line of responses.jsonl."""


def add(commands: Commands) -> None:
    """Add the command ``show``."""
    parser = commands.add_parser(
        "show",
        help="print answers of a run, and questions with their replies",
        description="Print the answers of a run by group, and questions with their replies, as its report "
        "has them. Nothing is asked.",
    )
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[REPORT] NAME",
        help="the report's file or folder (.factorfair/report); ids of cases, parts of ids such "
        "as 'crime_rate-highest', or gates that did not pass, such as 's_e[base,gender]'",
    )
    parser.add_argument(
        "-n",
        type=int,
        default=SHOWN,
        metavar="N",
        help=f"replies per name, those without an answer first ({SHOWN}; 0 for all)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.reports import json_report

    if arguments.n < 0:
        raise InputError(f"-n: expected 0 or more, got {arguments.n}")
    report, words = _report(arguments.words)
    with json_report.opened(report, name=report) as content:
        gates = content["gates"]
    names = tuple(dict.fromkeys(name for word in words for name in _names(report, word, gates)))
    replies, ids = _replies(report, names)
    for name in names:
        if not replies[name]:
            subjects = [gate["subject"] for gate in gates]
            raise InputError(f"{report}: it has no case or gate '{name}'{suggestion(name, ids, subjects)}")
    for name, by_model in replies.items():
        for (model, checklist), of_name in by_model.items():
            say(f"{name} ({model} on {checklist})")
            _show(of_name, arguments.n or len(of_name))


def _report(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The report, named or the default one, and the further words.

    Raises:
        InputError: there is no default report, or no further word.
    """
    word, *further_words = words
    if Path(word).exists() or word.endswith((".json", ".json.gz")):
        if not further_words:
            raise InputError(f"{word}: name a case of it to show, or a part of its id")
        return word, further_words
    from pytest_factorfair.reports import json_report

    if not any((Path(DEFAULT_REPORT) / name).is_file() for name in json_report.NAMES):
        raise InputError(
            f"there is no report in {DEFAULT_REPORT}; run pytest first, or name a folder: "
            "factorfair show FOLDER CASE"
        )
    return DEFAULT_REPORT, words


def _replies(
    report: str, names: Sequence[str]
) -> tuple[Mapping[str, Mapping[tuple[str, str], Sequence[Reply]]], Sequence[str]]:
    """The replies to the cases that each name selects, by model and checklist; and the ids of all cases."""
    from pytest_factorfair.reports import json_report

    file = json_report.replies_file(json_report.located(report))
    ids: dict[str, None] = {}
    replies: dict[str, dict[tuple[str, str], list[Reply]]] = {name: {} for name in names}
    for reply in json_report.replies(file, where=f"{report}: its replies are in {file}"):
        case = str(reply["case"])
        ids[case] = None
        for name in names:
            if selects(name, case):
                replies[name].setdefault((reply["model"], reply["checklist"]), []).append(reply)
    return replies, tuple(ids)


def _names(report: str, word: str, gates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The cases that the verdicts on a gate name; a word that is no gate is a name of cases itself.

    Raises:
        InputError: the verdicts on the gate name no cases.
    """
    verdicts = [
        gate
        for gate in gates
        if word in (gate["subject"], gate["name"]) or f"{gate['expression']} ".startswith(f"{word} ")
    ]
    if not verdicts:
        yield word
        return
    movers = [mover for gate in verdicts for mover in (gate["explanation"] or {}).get("movers", ())]
    if not movers:
        judgements = listed(sorted({gate["verdict"] for gate in verdicts}))
        raise InputError(f"{report}: the verdict on '{word}' is '{judgements}', and names no case")
    for mover in movers:
        yield mover["cases"]["select"]


def selects(name: str, case: str) -> bool:
    """Whether a name is the id of a case, or whole parts of it."""
    return f"-{name.strip('-')}-" in f"-{case}-"


def suggestion(name: str, ids: Sequence[str], subjects: Sequence[str] = ()) -> str:
    """A clause with the cases whose ids contain a name, or else with what is spelt alike."""
    containing = [case for case in ids if name.casefold() in case]
    if containing:
        beginnings = list(dict.fromkeys(map(_beginning, containing)))[:SUGGESTED]
        contain = "contains" if len(containing) == 1 else "contain"
        return f"; {len(containing):,} {contain} it, such as {listed(beginnings)}"
    similar = nearest(name, {*map(_beginning, ids), *subjects}, listing=False)
    return similar or nearest(name, {case.partition("-")[0] for case in ids})


def _beginning(case: str) -> str:
    """The id of a case without the number of its scenario."""
    return re.sub(r"-\d+$", "", case)


def _show(replies: Sequence[Reply], most: int) -> None:
    """The answers by group, then questions with their replies, from each case in turn."""
    say(f"  {_by_group(replies)}")
    counts = Counter[str]()
    turns = []
    for reply in replies:
        answered = reply["outcome"] == "answered"
        turns.append((answered, counts[reply["case"]] if answered else 0))
        counts[reply["case"]] += answered
    in_turn = sorted(range(len(replies)), key=turns.__getitem__)[:most]
    by_question: dict[str | None, list[Reply]] = {}
    for number in in_turn:
        by_question.setdefault(replies[number]["prompt"], []).append(replies[number])
    for prompt, to_prompt in by_question.items():
        say("")
        _indented((prompt or "(the store does not have the question)").splitlines())
        for reply in to_prompt:
            text = (reply["response"] or {}).get("text") or reply.get("reason") or "no reply"
            read_as = reply["outcome"] + (f" ({reply['reason']})" if reply.get("reason") else "")
            if reply["outcome"] == "answered":
                read_as = ", ".join(reply.get("groups", {}).values()) or str(reply.get("letter"))
            _indented([f"-> {' '.join(text.split())}  [{read_as}]"])
    if len(replies) > most:
        say("")
        say(f"  {len(replies) - most:,} more: -n 0")
    say("")


def _by_group(replies: Sequence[Reply]) -> str:
    """The shares of the groups in answers, by attribute, and the numbers of answers and losses.

    An answer in probabilities counts towards the group of each letter by its probability.
    """
    groups: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    lost = Counter[str]()
    for reply in replies:
        if reply["outcome"] != "answered":
            lost[reply["outcome"]] += 1
            continue
        if weights := reply.get("probabilities"):
            by_letter = reply.get("offered") or {"letter": ascii_uppercase}
        else:
            weights = (1.0,)
            answer = reply.get("groups") or {"letter": str(reply.get("letter"))}
            by_letter = {attribute: (group,) for attribute, group in answer.items()}
        for attribute, of_letters in by_letter.items():
            for group, weight in zip(of_letters, weights, strict=False):
                groups[attribute][group] += weight
    shares = [
        f"{attribute}: "
        + ", ".join(
            f"{group} {weight / sum(of_group.values()):.0%}"
            for group, weight in sorted(of_group.items(), key=itemgetter(1), reverse=True)
        )
        for attribute, of_group in groups.items()
    ]
    causes = ", ".join(f"{count:,} {outcome}" for outcome, count in lost.most_common())
    number = f"({plural(len(replies), 'answer')}, {lost.total():,} lost{causes and f': {causes}'})"
    return f"{'; '.join(shares)} {number}".strip()


def _indented(lines: Iterable[str]) -> None:
    for line in lines:
        say(f"  {line}")
