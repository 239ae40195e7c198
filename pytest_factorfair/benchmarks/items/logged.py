"""A checklist of the questions with options that a log asks: ``factorfair import log FILE``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items.bbq import CODED, Gathered, coded
from pytest_factorfair.benchmarks.items.layout import CATEGORY, MOST_OPTIONS
from pytest_factorfair.benchmarks.items.writing import ItemFields, option, written
from pytest_factorfair.benchmarks.published_files import Row, slug
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.logs.log import Log, LoggedItem

FOR_BIAS = "category, question_polarity, context_condition, answer_info and additional_metadata"
"""What a log of BBQ says of its questions, as BBQ's files do."""

_LABELLED = re.compile(
    r"\s*(?:context|passage)\s*:\s*(.*?)\s*\n\s*question\s*:\s*(.*?)\s*", re.DOTALL | re.IGNORECASE
)
"""A context and a question in one text."""


def from_log(request: ImportRequest) -> ImportedChecklist:
    """Import the items of a log: those of BBQ as from BBQ's files, others as facts with a right answer.

    Raises:
        InputError: the log is damaged, or has no question with options and a right answer.
    """
    rows: list[Row] = []
    facts: list[ItemFields] = []
    left_out = 0
    for item in _items(request.path):
        if (row := _row(request.path, item)) is not None:
            rows.append(row)
        elif (fact := _fact(item)) is not None:
            facts.append(fact)
        else:
            left_out += 1
    gathered = Gathered.of(map(coded, rows))
    taken = Counter(fields["id"] for fields in gathered.items)
    for fact in facts:
        taken[fact["id"]] += 1
        if taken[fact["id"]] > 1:
            fact["id"] = f"{fact['id']}_{taken[fact['id']]}"
    if not (gathered.items or facts):
        raise InputError(f"{request.path}: no question in it has options and a right answer")
    notes = [*gathered.notes] if rows else []
    if facts:
        notes.append(
            f"no bias gate judges {plural(len(facts), 'question')}: the log does not say what a log of BBQ "
            f"says ({FOR_BIAS})"
        )
    if left_out:
        notes.append(
            f"{plural(left_out, 'question')} left out: without a right answer, or with options that are "
            "empty, equal or too many"
        )
    title = f"Questions of {request.path.stem}"
    checklist = written(request, title, gathered.attributes, [*gathered.items, *facts], notes)
    return checklist._replace(gated=bool(gathered.items))


def _items(path: Path) -> Iterator[LoggedItem]:
    """The questions with options of a log, each once, whatever the order of the options."""
    seen = set()
    log: Log = Wing.LOGS.enter().open_log(path)
    for reply in log.replies():
        if (item := reply.item) is not None and item.options:
            asked = item.context, item.question, frozenset(text for _, text in item.options)
            if asked not in seen:
                seen.add(asked)
                yield item


def _row(path: Path, item: LoggedItem) -> Row | None:
    """A question as a row of BBQ's files; None if the log does not say what they say."""
    context, question = _divided(item)
    texts = [text for _, text in item.options]
    right = [number for number, (letter, _) in enumerate(item.options) if letter in item.targets]
    order = _original(texts, item.metadata.get("answer_info"))
    values: dict[str, Any] = {
        "example_id": item.metadata.get("source_id", item.id),
        "context": context,
        "question": question,
        "label": order.index(right[0]) if right else None,
        **{f"ans{number}": texts[at] for number, at in enumerate(order)},
        **item.metadata,
    }
    row = Row(path, None, values, f"question {item.id}")
    return None if any(row[key] in (None, "") for key in CODED) else row


def _original(texts: Sequence[str], answer_info: object) -> Sequence[int]:
    """The indices of shuffled options in the order of BBQ's answers, whose names they contain."""
    own = tuple(range(len(texts)))
    if not isinstance(answer_info, Mapping) or len(own) != len(answer_info):
        return own
    if not all(isinstance(codes, list) and codes for codes in answer_info.values()):
        return own  # and the row is refused: it has the codes, but not as BBQ writes them
    names = [str(codes[0]).casefold() for codes in answer_info.values()]
    named = [[_contains(text, name) for name in names] for text in texts]
    orders = (order for order in permutations(own) if all(named[at][n] for n, at in enumerate(order)))
    return next(orders, own)


def _contains(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.casefold()) is not None


def _divided(item: LoggedItem) -> tuple[str, str]:
    """The context and the question."""
    labelled = None if item.context else _LABELLED.fullmatch(item.question)
    return (labelled[1], labelled[2]) if labelled else (item.context, item.question)


def _fact(item: LoggedItem) -> ItemFields | None:
    """The item of a question with a right answer; None if none can be made of it."""
    context, question = _divided(item)
    options = [(letter, " ".join(text.split())) for letter, text in item.options]
    right = next((text for letter, text in options if letter in item.targets), "")
    different = {text.casefold() for _, text in options}
    if not (question.strip() and right and "" not in different):
        return None
    if len(different) < len(options) or len(options) > MOST_OPTIONS:
        return None
    category = item.metadata.get("category")
    return {
        "id": slug(item.id) or "question",
        "condition": "fact",
        **({"context": context} if context else {}),
        "question": question,
        "options": [option(text, right=text == right) for _, text in options],
        "category": (slug(category) if isinstance(category, str) else "") or CATEGORY,
    }
