"""From exchanges to answers: a user's hook and the reader for replies, the detector for pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair import reading
from pytest_factorfair.domain import OUTCOMES, Answer, Exchange, Reading, Record, utf8

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.session.composition import Assignment
    from pytest_factorfair.session.run import Run


OWN_DETECTOR = "its pictures were read by a detector of a conftest.py"
"""What a record is marked with whose answers nobody else can add to."""


def recorded(
    config: pytest.Config,
    run: Run,
    assignment: Assignment,
    exchanges: Sequence[Exchange],
    detector: Detector | None,
) -> Record:
    """What a case's exchanges say, in their order; a picture has an answer for each of its faces.

    Raises:
        DetectorError: the detector cannot work.
        StoreError: a picture can no longer be read from the store.
    """
    if detector is None and assignment.checklist.modality == "image":
        pytest.fail("factorfair_detector: pictures need a detector, got None", pytrace=False)
    notes = {utf8(str(note)) for one in exchanges if one.response for note in one.response.notes}
    if detector is not None:
        notes |= {OWN_DETECTOR} if detector is not run.detector else set()
        answers = tuple(_seen(run, assignment, exchanges, detector))
        return Record(assignment.key, answers, tuple(sorted(notes)))
    answers = tuple(_reply(config, exchange) for exchange in exchanges)
    queries = [exchange.query for exchange in exchanges]
    return Record(
        case=assignment.key,
        answers=answers,
        notes=tuple(sorted(notes)),
        choices=reading.choices(zip(queries, answers, strict=True)),
    )


def _seen(
    run: Run, assignment: Assignment, exchanges: Sequence[Exchange], detector: Detector
) -> Iterator[Answer]:
    """The pictures of a case are read in one go; what has none says why."""
    from pytest_factorfair import detection

    attributes = [assignment.checklist.attribute(name) for name in assignment.case.attributes]
    simple = {part: None for one in attributes for part in one.crossed or (one.name,)}
    files = [_file(one) for one in exchanges]
    pictures = map(run.store.picture, filter(None, files))
    seen = detection.read(detector, pictures, [assignment.checklist.attribute(one) for one in simple])
    for exchange, file in zip(exchanges, files, strict=True):
        yield from reading.pictured(exchange, next(seen) if file else None, attributes)


def _reply(config: pytest.Config, exchange: Exchange) -> Answer:
    own: Reading | None = None
    if exchange.response is not None:
        own = config.hook.pytest_factorfair_read_answer(response=exchange.response, query=exchange.query)
        if own is not None and not _is_reading(own):
            told = f"pytest_factorfair_read_answer: expected a Reading or None, got {own!r}"
            pytest.fail(told, pytrace=False)
    return reading.answer(exchange, reading=own)


def _is_reading(own: object) -> bool:
    """Whether a user's hook gave what it should; Python does not look at annotations."""
    if not isinstance(own, Reading):
        return False
    told: tuple[object, ...] = own.outcome, own.letter, own.reason
    return told[0] in OUTCOMES and isinstance(told[1], str | None) and isinstance(told[2], str)


def _file(exchange: Exchange) -> str:
    """The name of the picture in the store, where there is one and the response is no refusal; else empty."""
    response = exchange.response
    return response.image_file if response is not None and response.finish == "stop" else ""
