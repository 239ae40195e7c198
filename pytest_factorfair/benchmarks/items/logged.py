"""A checklist of the questions with options that a log asks: ``factorfair import log FILE``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items import decisions
from pytest_factorfair.benchmarks.items.bbq import FORMATS, BBQFormat, Gathered
from pytest_factorfair.benchmarks.items.layout import CATEGORY, MOST_OPTIONS
from pytest_factorfair.benchmarks.items.writing import ItemFields, option, written
from pytest_factorfair.benchmarks.published_files import Row, slug
from pytest_factorfair.domain import listed, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.logs.log import Log, LoggedItem

_LABELLED = re.compile(
    r"\s*(?:context|passage)\s*:\s*(.*?)\s*\n\s*question\s*:\s*(.*?)\s*", re.DOTALL | re.IGNORECASE
)
"""A context and a question in one text."""

_COMMON: Mapping[str, str] = {
    "en": r"the|and|was|were|who|not",
    "es": r"el|los|una|y|quién|en",
    "ca": r"els|amb|qui|i|més|va",
    "nl": r"de|het|een|en|wie|niet",
    "tr": r"ve|bir|bu|kim|değil|için",
}
"""Common words of the languages of benchmarks whose rows have equal columns."""


def from_log(request: ImportRequest) -> ImportedChecklist:
    """Import the items of a log: those of a published benchmark as from its files, others as facts.

    A benchmark is recognised by the columns of its rows, which tools log beside prompts; benchmarks
    with equal columns are told apart by the language of their questions.

    Raises:
        InputError: the log is damaged, has no question with options and a right answer, or has questions of
            benchmarks in several languages.
    """
    rows: dict[tuple[str, ...], list[Row]] = {}
    facts: list[ItemFields] = []
    left_out = 0
    columns = dict.fromkeys([*(coded.keys for coded in FORMATS.values()), decisions.KEYS])
    for item in _items(request):
        row = _row(request.path, item)
        keys = next((keys for keys in columns if not row.missing(keys)), None)
        if keys is not None:
            rows.setdefault(keys, []).append(row)
        elif (fact := _fact(item)) is not None:
            facts.append(fact)
        else:
            left_out += 1
    decided = [
        decisions.decision(row, f"decision_{row.id('example_id')}", "decisions")
        for row in rows.pop(decisions.KEYS, [])
    ]
    formats = {keys: _format_of(keys, section) for keys, section in rows.items()}
    languages = {coded.language for coded in formats.values()} | ({"en"} if decided else set())
    if len(languages) > 1:
        titles = listed([coded.title for coded in formats.values()] + [decisions.TITLE] * bool(decided))
        raise InputError(f"{request.path}: has questions of {titles}; a checklist has one language")
    gathered = Gathered.of(formats[keys].read(row) for keys, section in rows.items() for row in section)
    items = [*gathered.items, *(item for item, _ in decided)]
    if not (items or facts):
        raise InputError(f"{request.path}: no question in it has options and a right answer")
    _rename_equal([*items, *facts])
    notes = []
    if rows:
        titles = listed([coded.title for coded in formats.values()])
        notes += [f"{titles}: {gathered.notes[0]}", *gathered.notes[1:]]
        notes += [coded.licence for coded in formats.values() if coded.licence]
    if decided:
        notes.append(f"{decisions.TITLE}: {plural(len(decided), 'question')}")
    if facts:
        notes.append(
            f"no bias gate judges {plural(len(facts), 'question')}: the log has the columns of no benchmark "
            f"that can be imported ({', '.join([*FORMATS, 'discrim-eval'])})"
        )
    if left_out:
        notes.append(
            f"{plural(left_out, 'question')} left out: without a right answer, or with options that are "
            "empty, equal or too many"
        )
    attributes = {**gathered.attributes, **(decisions.attributes_of(decided) if decided else {})}
    checklist = written(
        request,
        f"Questions of {request.path.stem}",
        attributes,
        [*items, *facts],
        notes,
        language=next(iter(languages), "en"),
    )
    return checklist._replace(gated=bool(items))


def _format_of(keys: tuple[str, ...], rows: Sequence[Row]) -> BBQFormat:
    """The format whose rows have these keys; of several, the first in the language of the questions."""
    formats = [coded for coded in FORMATS.values() if coded.keys == keys]
    if len(formats) == 1:
        return formats[0]
    texts = " ".join(f"{row['context']} {row['question']}" for row in rows).casefold()
    return max(formats, key=lambda coded: len(re.findall(rf"\b(?:{_COMMON[coded.language]})\b", texts)))


def _rename_equal(items: Sequence[ItemFields]) -> None:
    """Number the ids that several items have."""
    taken = Counter[str]()
    for fields in items:
        taken[fields["id"]] += 1
        if taken[fields["id"]] > 1:
            fields["id"] = f"{fields['id']}_{taken[fields['id']]}"


def _items(request: ImportRequest) -> Iterator[LoggedItem]:
    """The questions with options of a log, each once, whatever the order of the options."""
    seen = set()
    log: Log = Wing.LOGS.enter().open_with(request.path, request.arguments)
    for reply in log.replies():
        if (item := reply.item) is not None and item.options:
            asked = item.context, item.question, frozenset(text for _, text in item.options)
            if asked not in seen:
                seen.add(asked)
                yield item


def _row(path: Path, item: LoggedItem) -> Row:
    """A question as a row of a benchmark's file; columns that the log lacks are filled from the item.

    If its options are shuffled, the right one is rarely the third where it has to be, and reading fails.
    """
    context, question = _divided(item)
    texts = [text for _, text in item.options]
    right = [number for number, (letter, _) in enumerate(item.options) if letter in item.targets]
    order = _original(texts, item.metadata.get("answer_info"))
    values: dict[str, Any] = {
        "example_id": item.metadata.get("source_id", item.id),
        "context": context,
        "question": question,
        "label": order.index(right[0]) if right else None,
        "choices": texts,
        "answer": texts[right[0]] if right else None,
        **{f"ans{number}": texts[at] for number, at in enumerate(order)},
        # CBBQ's first column begins with a byte order mark.
        **{name.removeprefix("\ufeff"): value for name, value in item.metadata.items()},
    }
    return Row(path, None, values, f"question {item.id}")


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
