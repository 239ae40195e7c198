"""From exchanges to answers: a user's hook and the reader for replies, the detector for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair import reading
from pytest_factorfair.domain import Answer, Exchange, Reading, Response

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.run import Assignment, Run
    from pytest_factorfair.store import Store


def answers(
    config: pytest.Config,
    run: Run,
    assignment: Assignment,
    exchanges: Sequence[Exchange],
    detector: Detector | None,
) -> tuple[Answer, ...]:
    """The answers of a case's exchanges, in their order; a picture has one for each of its faces.

    Raises:
        DetectorError: the detector cannot work.
        StoreError: a picture can no longer be read from the store.
    """
    if detector is None:
        return tuple(_reply(config, exchange) for exchange in exchanges)
    looked = {place: _picture(run.store, one.response) for place, one in enumerate(exchanges)}
    pictures = {place: picture for place, picture in looked.items() if picture is not None}
    attributes = [assignment.checklist.attribute(name) for name in assignment.case.attributes]
    simple = {part: None for one in attributes for part in one.crossed or (one.name,)}
    seen = detector.read(list(pictures.values()), [assignment.checklist.attribute(one) for one in simple])
    detections = dict(zip(pictures, seen, strict=True))
    return tuple(
        answer
        for place, exchange in enumerate(exchanges)
        for answer in reading.pictured(exchange, detections.get(place), attributes)
    )


def _reply(config: pytest.Config, exchange: Exchange) -> Answer:
    own: Reading | None = None
    if exchange.response is not None:
        own = config.hook.pytest_factorfair_read_answer(response=exchange.response, query=exchange.query)
        if own is not None and not isinstance(own, Reading):
            told = f"pytest_factorfair_read_answer: expected a Reading or None, got {own!r}"
            pytest.fail(told, pytrace=False)
    return reading.answer(exchange, reading=own)


def _picture(store: Store, response: Response | None) -> bytes | None:
    """The encoded picture of a response that has one and is no refusal."""
    if response is None or response.finish != "stop":
        return None
    return store.picture(response.image_file) if response.image_file else response.image
