"""What unparsed replies look like: their beginnings, without what differs from query to query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_factorfair.domain import Answer, Exchange, Option, Record, excerpt, plural

LONGEST = 60
"""Characters of a shape."""

SHOWN = 3
"""Shapes that a summary lists."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def shape(text: str, options: Sequence[Option]) -> str:
    """The beginning of a reply in one line, its names, letters and numbers replaced by these words."""
    line = excerpt(text, 10 * LONGEST)
    names = sorted({word for option in options for word in option.words}, key=len, reverse=True)
    if names:
        line = re.sub(rf"\b(?:{'|'.join(map(re.escape, names))})\b", "<name>", line, flags=re.IGNORECASE)
        letters = "".join(option.letter for option in options)
        line = re.sub(rf"\b[{letters}]\b(?! [a-z])", "<letter>", line)  # not the article "A"
    return excerpt(_NUMBER.sub("<number>", line), LONGEST) or "nothing"


def shapes(answers: Sequence[Answer], exchanges: Sequence[Exchange]) -> Mapping[str, int]:
    """How often each shape occurs among the replies that could not be parsed."""
    return Counter(
        shape(exchange.response.text, exchange.query.options)
        for answer, exchange in zip(answers, exchanges, strict=True)
        if answer.outcome == "unparsed" and exchange.response is not None
    )


def notes(records: Iterable[Record]) -> Iterator[str]:
    """One line for each model with unparsed replies: how many, and the most frequent shapes."""
    found: dict[str, Counter[str]] = {}
    for record in records:
        found.setdefault(record.case.model, Counter()).update(record.shapes)
    for model, counts in found.items():
        frequent = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:SHOWN]
        if frequent:
            replies = plural(counts.total(), "unparsed reply", "unparsed replies")
            listed = ", ".join(f'"{shape}" ({count:,})' for shape, count in frequent)
            yield f"{model}: {replies}, most often like {listed}"
