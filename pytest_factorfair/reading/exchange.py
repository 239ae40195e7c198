"""From what became of a query to its answer."""

from __future__ import annotations

from pytest_factorfair.domain import Answer, Exchange, Reading, utf8
from pytest_factorfair.reading.text import read


def answer(exchange: Exchange, *, reading: Reading | None = None) -> Answer:
    """The answer of one query, with the groups of the option it chose; an error's reason is its own line.

    ``reading`` is one made elsewhere, which takes the place of this room's own.
    """
    query = exchange.query
    if exchange.error or exchange.response is None:
        reading = Reading("error", reason=exchange.error or "no response")
    elif reading is None:
        reading = read(exchange.response, query.options)
    chosen = next((option for option in query.options if option.letter == reading.letter), None)
    return Answer(
        query=query.id,
        outcome=reading.outcome,
        reason=utf8(reading.reason),
        letter=reading.letter,
        groups=chosen.groups if chosen else {},
        background=query.background,
        key=exchange.key,
        repeat=query.repeat,
    )
