"""Mistakes of a user's detector become errors in one line, and few pictures are in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from pytest_factorfair.detection import check, read
from pytest_factorfair.detection.protocol import AT_ONCE
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, InputError
from tests.unit.detection.builders import BOTH

BOX = (0.0, 0.0, 1.0, 1.0)


class OptionValue:
    """A detector that returns the result of ``give``."""

    def __init__(self, give: Callable[[Sequence[bytes]], object], identity: object = None) -> None:
        self._give = give
        self.identity = identity or {"detector": "given"}

    def check(self, _: Sequence[Attribute]) -> None:
        self._give([])

    def read(self, pictures: Sequence[bytes], _: Sequence[Attribute]) -> object:
        return self._give(pictures)


def raising(_: object) -> object:
    raise RuntimeError("two\nlines")


def faces(*detected: object) -> Callable[[Sequence[bytes]], object]:
    return lambda pictures: tuple(Detection(detected) for _ in pictures)  # type: ignore[arg-type]  # on purpose


def sides(*detected: Face) -> Callable[[Sequence[bytes]], object]:
    return lambda pictures: tuple(Detection(sides=detected) for _ in pictures)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (raising, "the detector fails: RuntimeError: two lines"),
        (lambda _: None, "the detector fails: TypeError: 'NoneType' object is not iterable"),
        (lambda _: (), "the detector returned 0 detections for 1 picture"),
        (lambda _: [None], "the detector returned NoneType, expected a Detection"),
        (faces({"gender": "Male"}), "the detector returned dict, expected a Face"),
        (
            faces(Face({"gender": "Martian"}, {"gender": 1.0}, BOX)),
            "the detector returned 'Martian' for 'gender', whose groups are Female, Male",
        ),
        (
            faces(Face({"hat": "none"}, {"hat": 1.0}, BOX)),
            "the detector returned 'hat' and is asked about gender, race",
        ),
        (
            faces(Face({"gender": "Male"}, {}, BOX)),
            "the detector returned a group of 'gender' without its confidence",
        ),
        (
            sides(Face({}, {}, BOX, {"gender": {"Female": 0.7, "Male": 0.7}})),
            "the detector returned shares of 'gender' that are no probabilities: {'Female': 0.7, 'Male': 0.7}",
        ),
        (
            faces(Face({}, {}, BOX, {"gender": {"Male": 1.0}})),
            "the detector returned shares of 'gender' that are no probabilities: {'Male': 1.0}",
        ),
        (
            faces(Face({}, {}, BOX, {"hat": {}})),
            "the detector returned shares of 'hat' that are no probabilities: {}",
        ),
    ],
)
def test_an_invalid_detection_stops_in_one_line(
    give: Callable[[Sequence[bytes]], object], message: str
) -> None:
    with pytest.raises(DetectorError) as caught:
        list(read(OptionValue(give), [b"picture"], BOTH))  # type: ignore[arg-type]  # on purpose
    assert str(caught.value) == message


def test_a_check_that_fails_and_an_identity_that_no_report_can_hold() -> None:
    with pytest.raises(InputError, match=r"^the detector cannot be used: RuntimeError: two lines$"):
        check(OptionValue(raising), BOTH)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(
        InputError, match=r"^the detector cannot be used: TypeError: .* not JSON serializable"
    ):
        check(OptionValue(faces(), {"network": object()}), BOTH)  # type: ignore[arg-type]  # on purpose


def test_pictures_are_fetched_as_they_are_read() -> None:
    fetched, sizes = 0, []

    def fetch(count: int) -> Iterator[bytes]:
        nonlocal fetched
        for number in range(count):
            fetched += 1
            yield str(number).encode()

    def give(pictures: Sequence[bytes]) -> object:
        sizes.append((len(pictures), fetched))
        return [Detection(error=picture.decode()) for picture in pictures]

    detections = list(read(OptionValue(give), fetch(2 * AT_ONCE + 2), BOTH))  # type: ignore[arg-type]  # a stand-in
    assert [detection.error for detection in detections] == [str(number) for number in range(2 * AT_ONCE + 2)]
    assert sizes == [(AT_ONCE, AT_ONCE), (AT_ONCE, 2 * AT_ONCE), (2, 2 * AT_ONCE + 2)]
