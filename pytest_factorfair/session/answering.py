"""From exchanges to answers: replies by the user's reader or the built-in one, pictures by the detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from pytest_factorfair import protocols, reading
from pytest_factorfair.domain import (
    OUTCOMES,
    Answer,
    Exchange,
    Query,
    Reading,
    Record,
    Response,
    excerpt,
    utf8,
)
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.run import Assignment

LONGEST_NAME = 100
"""Characters of the name of a model in a reply."""

ReadAnswer: TypeAlias = "Callable[[Response, Query], object]"
"""The user's reader: returns a ``Reading``, or None to use ours."""


def recorded(
    execution: Execution,
    assignment: Assignment,
    exchanges: Sequence[Exchange],
    *,
    detector: Detector | None,
    read: ReadAnswer | None,
) -> Record:
    """The record of a case's exchanges, in order; a picture has one answer per face.

    Raises:
        InputError: the user's reader returns something else than a reading, or pictures have no detector.
        DetectorError: the detector cannot work.
        StoreError: a picture can no longer be read from the store.
    """
    if detector is None and assignment.checklist.modality == "image":
        raise InputError("factorfair_detector: pictures need a detector, got None")
    responses = [one.response for one in exchanges if one.response]
    notes = {utf8(str(note)) for response in responses for note in response.notes}
    dropped = tuple(sorted({utf8(str(name)) for response in responses for name in response.dropped}))
    answered_by = Counter(excerpt(one.model, LONGEST_NAME) for one in responses if one.model)
    if detector is not None:
        own = detector is not execution.run.detector
        notes |= {"its pictures were read by a detector of a conftest.py"} if own else set()
        answers = tuple(_seen(execution, assignment, exchanges, detector))
        return Record(
            assignment.key,
            answers,
            tuple(sorted(notes)),
            dropped=dropped,
            own_detector=own,
            answered_by=answered_by,
        )
    answers = tuple(
        reading.answer(
            one,
            reading=_own(one, read),
            answers=execution.run.settings.answers,
            language=assignment.checklist.language,
        )
        for one in exchanges
    )
    queries = [exchange.query for exchange in exchanges]
    return Record(
        case=assignment.key,
        answers=answers,
        notes=tuple(sorted(notes)),
        choices=reading.choices(zip(queries, answers, strict=True)),
        dropped=dropped,
        shapes=reading.shapes(answers, exchanges),
        answered_by=answered_by,
    )


def _seen(
    execution: Execution, assignment: Assignment, exchanges: Sequence[Exchange], detector: Detector
) -> Iterator[Answer]:
    """Read the pictures of a case in chunks, each picture once; an exchange without one keeps its reason."""
    from pytest_factorfair import detection

    attributes = [assignment.checklist.attribute(name) for name in assignment.case.attributes]
    simple = {part: None for one in attributes for part in one.crossed or (one.name,)}
    # The name of each picture in the store; empty for a refusal and without a picture.
    responses = [one.response for one in exchanges]
    files = [one.image_file if one is not None and one.finish == "stop" else "" for one in responses]
    read = [assignment.checklist.attribute(one) for one in simple]
    store, key = execution.store, detection.key(detector, read)
    seen = {} if key is None else store.detections.found(key, filter(None, files))
    unread = [file for file in dict.fromkeys(files) if file and file not in seen]
    images = (image.result() for image in store.pictures.reading(unread))
    new = zip(unread, detection.read(detector, images, read), strict=True)
    while some := dict(islice(new, detection.AT_ONCE)):
        if key is not None:
            store.detections.keep(key, some)
        seen |= some
    people = protocols.people(assignment.checklist, assignment.case)
    for exchange, file in zip(exchanges, files, strict=True):
        yield from reading.pictured(exchange, seen[file] if file else None, attributes, people)


def _own(exchange: Exchange, read: ReadAnswer | None) -> Reading | None:
    """The user's reading of a reply, checked, because the reader may return anything."""
    if read is None or exchange.response is None:
        return None
    own = read(exchange.response, exchange.query)
    if own is None:
        return None
    wrong: tuple[str, object] = "a Reading or None", own
    if isinstance(own, Reading) and own.outcome in OUTCOMES:
        parts: tuple[object, ...] = own.letter, own.reason
        letters = [option.letter for option in exchange.query.options]
        named = ", ".join(letters)
        typed = isinstance(parts[0], str | None) and isinstance(parts[1], str)
        if typed and own.outcome == "answered" and own.letter not in letters:
            wrong = f"an answer with one of the letters {named}", own.letter
        elif (
            typed
            and own.probabilities
            and not (
                set(own.probabilities) == set(letters)
                and all(0 <= one <= 1 for one in own.probabilities.values())
                and any(own.probabilities.values())
            )
        ):
            wrong = f"probabilities of {named}, not all of them 0", own.probabilities
        elif typed:
            return own
    raise InputError(f"pytest_factorfair_read_answer: expected {wrong[0]}, got {wrong[1]!r}")
