"""Users' detectors: the supported forms, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_factorfair.detection import build
from pytest_factorfair.domain import Detection
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.pictures.cards import blank, paint
from tests.unit.detection.builders import BOTH


def module(folder: Path, code: str) -> Path:
    path = folder / "mine.py"
    path.write_text(dedent(code))
    return path


def test_a_function_of_the_pixels(tmp_path: Path) -> None:
    path = module(
        tmp_path,
        """
        def look(pixels):
            assert pixels.shape == (96, 96, 3) and pixels.dtype == "uint8"
            return [{"gender": "Male", "race": "Martian", "hat": "none"}, {"race": "Black"}]
        """,
    )
    detector = build(f"python:{path}:look", custom={})
    detector.check(BOTH)
    detection, broken = detector.read([blank(1), b""], BOTH)
    assert [face.groups for face in detection.faces] == [{"gender": "Male"}, {"race": "Black"}]
    assert detection.faces[0].confidence == {"gender": 1.0}
    assert broken == Detection(error="the picture is empty (0 bytes)")
    assert detector.identity["detector"] == f"python:{path}:look"
    assert len(str(detector.identity["sha256"])) == 64


@pytest.mark.parametrize(
    ("faces", "reason"),
    [
        ([{"gender": "woman"}], "'woman' for 'gender', whose groups are Female, Male"),
        ([{"hat": "none", "gender": None}], "'hat' and is asked about gender, race"),
        ([{"sex": "Male"}], "'sex' and is asked about gender, race"),
    ],
)
def test_words_that_are_no_groups_are_shown_beside_the_groups(
    tmp_path: Path, faces: list[dict[str, str]], reason: str
) -> None:
    detector = build(f"python:{module(tmp_path, f'def look(pixels): return {faces}')}:look", custom={})
    (detection,) = detector.read([blank(1)], BOTH)
    assert detection == Detection(unparsed=f"the detector returned {reason}")


def test_a_face_of_which_nothing_can_be_told_has_no_groups(tmp_path: Path) -> None:
    code = "def look(pixels): return [{'gender': None, 'race': 'unclear'}]"
    (detection,) = build(f"python:{module(tmp_path, code)}:look", custom={}).read([blank(1)], BOTH)
    assert [face.groups for face in detection.faces] == [{}]
    assert not detection.unparsed


@pytest.mark.parametrize("form", ["Mine", "make", "made"])
def test_a_detector_its_class_or_its_factory(tmp_path: Path, form: str) -> None:
    path = module(
        tmp_path,
        """
        from pytest_factorfair.domain import Detection, Face

        class Mine:
            identity = {"detector": "mine"}
            def check(self, attributes): pass
            def read(self, pictures, attributes):
                return tuple(Detection((Face({"gender": "Male"}, {"gender": 1.0}, (0, 0, 1, 1)),)) for _ in pictures)

        def make():
            return Mine()

        made = Mine()
        """,
    )
    detector = build(f"python:{path}:{form}", custom={})
    assert detector.identity == {"detector": "mine"}
    assert [detection.faces[0].groups for detection in detector.read([b"any"], BOTH)] == [{"gender": "Male"}]


def read(path: Path, pictures: Sequence[bytes]) -> tuple[Detection, ...]:
    return build(f"python:{path}:look", custom={}).read(pictures, BOTH)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise KeyError('face')", "the detector raised KeyError: 'face'"),
        ("return 7", "the detector raised TypeError: 'int' object is not iterable"),
        ("return ['Male']", "the detector raised AttributeError: 'str' object has no attribute 'get'"),
    ],
)
def test_a_failure_is_an_error_never_an_answer(tmp_path: Path, body: str, message: str) -> None:
    path = module(tmp_path, f"def look(pixels):\n    {body}\n")
    assert read(path, [paint({}, seed=1), blank(2)]) == (Detection(error=message), Detection(error=message))


def test_a_function_may_stop_the_run(tmp_path: Path) -> None:
    path = module(
        tmp_path,
        """
        from pytest_factorfair.errors import DetectorError
        def look(pixels):
            raise DetectorError("out of order")
        """,
    )
    with pytest.raises(DetectorError, match="out of order"):
        read(path, [blank(1)])


def test_a_factory_that_raises(tmp_path: Path) -> None:
    path = module(tmp_path, "def look():\n    raise OSError('no weights')\n")
    with pytest.raises(InputError, match="calling it without arguments raised OSError: no weights"):
        build(f"python:{path}:look", custom={})
    path = module(tmp_path, "1 / 0\n")
    with pytest.raises(InputError, match="failed: ZeroDivisionError: division by zero"):
        build(f"python:{path}:look", custom={})
