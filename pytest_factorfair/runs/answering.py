"""Read the answers of exchanges: replies by the user's or the built-in reader, pictures by the detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_factorfair import reading
from pytest_factorfair.domain import (
    OUTCOMES,
    Answer,
    Exchange,
    Language,
    Query,
    Reading,
    Record,
    Response,
    defused,
    excerpt,
    utf8,
)
from pytest_factorfair.engine import Unusable
from pytest_factorfair.errors import InputError
from pytest_factorfair.reading.outcomes import QUOTED
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.responses import Responses
    from pytest_factorfair.runs.run import Assignment, Run

LONGEST_NAME = 100
"""Characters of the name of a model in a reply."""

ReadAnswer: TypeAlias = "Callable[[Response, Query], Reading | None]"
"""The user's reader, whose result is ``checked``; None to use ours."""


FACTS = "objective"
"""The part in which a refusal is of no use to a run: a model that declines judgements may be careful."""


class AnswerReader:
    """Reads the answers of a run: replies with the user's reader ``own`` or ours, pictures from the store.

    ``judge`` and ``can_judge`` are called in a thread that must not import anything: the parser of replies is
    imported by the main thread, in ``catch_up`` or as it reads the first reply that has to be parsed.
    """

    def __init__(self, run: Run, responses: Responses, own: ReadAnswer | None) -> None:
        self._run = run
        self._responses = responses
        self._read_answer = own
        self._checklists = {checklist.name: checklist for checklist in run.checklists}
        self._parses = run.modality == "image"
        self._has_to_parse = False

    def record(
        self, assignment: Assignment, exchanges: Sequence[Exchange], *, detector: Detector | None
    ) -> Record:
        """The record of a case's exchanges, in order; a picture has one answer per face.

        Raises:
            InputError: the user's reader returns something else than a reading, or pictures have no detector.
            DetectorError: the detector cannot work.
            StoreError: a picture can no longer be read from the store.
        """
        if detector is None and assignment.checklist.modality == "image":
            raise InputError("factorfair_detector: pictures need a detector, got None")
        responses = [exchange.response for exchange in exchanges if exchange.response]
        notes = {utf8(str(note)) for response in responses for note in response.notes}
        dropped = tuple(sorted({utf8(str(name)) for response in responses for name in response.dropped}))
        answered_by, configurations = (
            Counter(excerpt(name, LONGEST_NAME) for name in names if name)
            for names in (
                [response.model for response in responses],
                [response.configuration for response in responses],
            )
        )
        if detector is not None:
            own_detector = detector is not self._run.detector
            notes |= {"its pictures were read by a detector of a conftest.py"} if own_detector else set()
            return Record(
                assignment.key,
                tuple(self._seen(assignment, exchanges, detector)),
                tuple(sorted(notes)),
                dropped=dropped,
                own_detector=own_detector,
                question=assignment.case.question,
                answered_by=answered_by,
                configurations=configurations,
            )
        answers = tuple(
            reading.answer(
                exchange,
                reading=own_reading(exchange, self._read_answer),
                answers=self._run.settings.answers,
                language=assignment.checklist.language,
            )
            for exchange in exchanges
        )
        if self._run.sampling.declines == "neutral" and assignment.case.judges:
            answers = tuple(map(reading.neutral, answers))
        queries = [exchange.query for exchange in exchanges]
        return Record(
            case=assignment.key,
            answers=answers,
            notes=tuple(sorted(notes)),
            choices=reading.choices(zip(queries, answers, strict=True)),
            dropped=dropped,
            question=assignment.case.question,
            shapes=reading.shapes(answers, exchanges),
            answered_by=answered_by,
            configurations=configurations,
        )

    def _seen(
        self, assignment: Assignment, exchanges: Sequence[Exchange], detector: Detector
    ) -> Iterator[Answer]:
        """Read a case's pictures in chunks, each picture once; an exchange without one has its reason."""
        from pytest_factorfair import detection

        attributes = [assignment.checklist.attribute(name) for name in assignment.case.attributes]
        simple = {part: None for attribute in attributes for part in attribute.crossed or (attribute.name,)}
        # The name of each picture in the store; empty for a refusal and without a picture.
        responses = [exchange.response for exchange in exchanges]
        files = [
            response.image_file if response is not None and response.finish == "stop" else ""
            for response in responses
        ]
        read = [assignment.checklist.attribute(name) for name in simple]
        store, key = self._responses.store, detection.key(detector, read)
        seen = {} if key is None else store.detections.found(key, filter(None, files))
        unread = [file for file in dict.fromkeys(files) if file and file not in seen]
        images = (image.result() for image in store.pictures.reading(unread))
        detected = zip(unread, detection.read(detector, images, read), strict=True)
        while detections := dict(islice(detected, detection.AT_ONCE)):
            if key is not None:
                store.detections.keep(key, detections)
            seen |= detections
        people = assignment.case.people
        for exchange, file in zip(exchanges, files, strict=True):
            yield from reading.pictured(exchange, seen[file] if file else None, attributes, people)

    def can_judge(self, query: Query, response: Response) -> bool:
        """Whether all that reads a reply is imported; otherwise ``catch_up`` is going to import it."""
        exact = self._parses or (
            query.options and reading.as_requested(response, query.options, self._run.settings.answers)
        )
        self._has_to_parse |= not exact
        return bool(exact)

    def catch_up(self) -> None:
        """Import the parser of replies if one has arrived that needs it."""
        if self._has_to_parse and not self._parses:
            import_module("pytest_factorfair.reading.text")
            self._parses = True

    def judge(
        self, model: Model, query: Query, response: Response
    ) -> Unusable | Literal["usable", "declined"]:
        """Whether a reply can be used; not if it is unparsed, or refuses a question of fact.

        A careful model may decline all judgements, but only its replies to questions of fact show whether it
        answers those. Only the detector knows whom a picture shows, so any picture can be used.
        """
        case = query.case
        if case is None or case.checklist not in self._checklists:
            return "usable"
        text = defused(excerpt(response.text, QUOTED))
        shown = ", ".join([f'"{text}"' if text else "no text", *response.notes])
        try:
            answer = self._first_answer(query, self._checklists[case.checklist].language, response)
        except InputError as error:  # a reader that is wrong about one reply is wrong about all
            return Unusable(str(error), shown, "mend the function that reads replies")
        if answer is None or answer.outcome == "answered":
            return "usable"
        if answer.outcome == "refused" and case.part != FACTS:
            return "declined"
        modes, logged = self._run.other_modes(model), self._run.logged(model)
        remedy = reading.remedy(answer.reason, modes, pictured=False, logged=logged)
        return Unusable(answer.reason, shown, remedy)

    def _first_answer(self, query: Query, language: Language, response: Response) -> Answer | None:
        """The answer of one of the first replies; None if only the main thread can read it."""
        exchange = Exchange(query, "", response)
        if self._run.modality == "image":
            shown = response.finish == "stop" and (response.image is not None or bool(response.image_file))
            return None if shown else reading.pictured(exchange, None, ())[0]
        try:
            user_reading = own_reading(exchange, self._read_answer)
        except InputError:
            raise
        except BaseException:  # noqa: BLE001  # whatever it is, the main thread meets it when it reads the case
            return None
        return reading.answer(
            exchange, reading=user_reading, answers=self._run.settings.answers, language=language
        )


def own_reading(exchange: Exchange, read: ReadAnswer | None) -> Reading | None:
    """The user's reading of a reply; None to use ours, as for a question without options."""
    if read is None or exchange.response is None or not exchange.query.options:
        return None
    return read(exchange.response, exchange.query)


def checked(user_reading: object, query: Query, where: str) -> Reading | None:
    """The reading of a reply to this query that a user's reader returned; ``where`` names the reader.

    Raises:
        InputError: it is something else than a reading or None.
    """
    if user_reading is None:
        return None
    wrong: tuple[str, object] = "a Reading or None", user_reading
    if isinstance(user_reading, Reading) and user_reading.outcome in OUTCOMES:
        parts: tuple[object, ...] = user_reading.letter, user_reading.reason
        letters = [option.letter for option in query.options]
        named = ", ".join(letters)
        typed = isinstance(parts[0], str | None) and isinstance(parts[1], str)
        if typed and user_reading.outcome == "answered" and user_reading.letter not in letters:
            wrong = f"an answer with one of the letters {named}", user_reading.letter
        elif (
            typed
            and user_reading.probabilities
            and not (
                set(user_reading.probabilities) == set(letters)
                and all(0 <= probability <= 1 for probability in user_reading.probabilities.values())
                and any(user_reading.probabilities.values())
            )
        ):
            wrong = f"probabilities of {named}, not all of them 0", user_reading.probabilities
        elif typed:
            return user_reading
    raise InputError(f"{where}: expected {wrong[0]}, got {fit(repr(wrong[1]))}")
