"""From a picture and what a detector saw in it to answers."""

from __future__ import annotations

from pytest_factorfair.domain import Answer, Detection, Exchange, Face, Reading
from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import FINISHED, NO_FACE, NO_GROUP, NO_PICTURE


def pictured(exchange: Exchange, detection: Detection | None) -> tuple[Answer, ...]:
    """An answer for each face; one that says why where there is none.

    ``detection`` is None where there was no picture to look at.
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
    return tuple(_face(exchange, face) for face in detection.faces)


def _face(exchange: Exchange, face: Face) -> Answer:
    reading = Reading("answered") if face.groups else NO_GROUP
    return Answer(
        query=exchange.query.id,
        outcome=reading.outcome,
        reason=reading.reason,
        letter=None,
        groups=face.groups,
        background=exchange.query.background,
        key=exchange.key,
        confidence=face.confidence,
    )
