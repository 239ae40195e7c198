"""From a picture and what a detector saw in it to answers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pytest_factorfair.domain import Answer, Attribute, Detection, Exchange, Face, Reading, shared
from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import FINISHED, NO_FACE, NO_GROUP, NO_PICTURE


def pictured(
    exchange: Exchange, detection: Detection | None, attributes: Sequence[Attribute]
) -> tuple[Answer, ...]:
    """An answer for each face, by these attributes; one that says why where there is none.

    ``detection`` is None where there was no picture to look at; it knows no crossed attributes, whose
    groups follow from those they are made of.
    """
    response = exchange.response
    if exchange.error or response is None:
        return (answer(exchange),)
    if response.finish != "stop":
        return (answer(exchange, reading=FINISHED[response.finish]),)
    if detection is None:
        return (answer(exchange, reading=NO_PICTURE),)
    if detection.error:
        return (answer(exchange, reading=Reading("unread", reason=detection.error)),)
    if not detection.faces:
        return (answer(exchange, reading=NO_FACE),)
    return tuple(_face(exchange, face, attributes) for face in detection.faces)


def _face(exchange: Exchange, face: Face, attributes: Sequence[Attribute]) -> Answer:
    groups = {one.name: group for one in attributes if (group := _group(face, one)) is not None}
    reading = Reading("answered") if groups else NO_GROUP
    return Answer(
        query=exchange.query.id,
        outcome=reading.outcome,
        reason=reading.reason,
        letter=None,
        groups=shared(tuple(groups.items())),
        background=exchange.query.background,
        key=exchange.key,
        repeat=exchange.query.repeat,
        confidence={
            one.name: prod(face.confidence[part] for part in one.crossed or (one.name,))
            for one in attributes
            if one.name in groups
        },
    )


def _group(face: Face, attribute: Attribute) -> str | None:
    """The face's group, None where the detector could not tell; that of a crossed attribute is joined."""
    parts = [face.groups.get(part) for part in attribute.crossed or (attribute.name,)]
    return None if None in parts else " ".join(filter(None, parts))
