"""From pictures to groups through a real session: errors, votes, order, what is loaded and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.detection import build, fairface
from pytest_factorfair.detection.card_network import FILE
from pytest_factorfair.detection.onnx_session import session
from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.pictures.cards import blank, paint
from tests.unit.detection.builders import BOTH, GENDER, network

MALE, FEMALE = {"gender": 0, "race": 0}, {"gender": 1, "race": 1}


def test_every_picture_has_its_detection() -> None:
    pictures = [paint(FEMALE, seed=1), blank(2), b"", paint({"race": 3, "gender": 0}, seed=3)]
    first, none, broken, last = build("sim", custom={}).read(pictures, BOTH)
    assert [face.groups for face in first.faces] == [{"gender": "Female", "race": "Black"}]
    assert (none.faces, none.error) == ((), "")
    assert (broken.faces, broken.error) == ((), "the picture is empty (0 bytes)")
    assert [face.groups for face in last.faces] == [{"gender": "Male", "race": "Asian"}]
    assert first.faces[0].box[2:] == (56, 56)


def test_votes_of_a_picture() -> None:
    picture = paint(MALE, FEMALE, {"gender": 0, "race": 3}, seed=1)
    (every,) = build("sim", custom={}).read([picture], BOTH)
    assert len(every.faces) == 3
    (one,) = build("sim?votes=picture", custom={}).read([picture], BOTH)
    assert [face.groups for face in one.faces] == [{"gender": "Male"}]
    (none,) = build("sim?votes=picture", custom={}).read([blank(1)], BOTH)
    assert none.faces == ()


@pytest.mark.parametrize(
    ("races", "groups"),
    [("census", ["Asian", "White"]), ("other", [None, None])],
)
def test_the_mapping_decides_over_indian_and_middle_eastern(races: str, groups: list[str | None]) -> None:
    pictures = [paint({"race": race}, seed=race) for race in (5, 6)]
    detector = build(f"sim?races={races}", custom={})
    assert [each.faces[0].groups.get("race") for each in detector.read(pictures, BOTH)] == groups


def test_a_fairface_file_with_whole_pictures(tmp_path: Path) -> None:
    copy = tmp_path / "fairface.onnx"
    copy.write_bytes(FILE.read_bytes())
    detector = build(f"fairface:{copy}?faces=whole&device=cpu", custom={})
    (found,) = detector.read([paint(MALE, seed=1)], BOTH)
    assert found.faces[0].box == (0, 0, 96, 96)
    assert detector.identity["faces"] == {"finder": "whole"}
    assert detector.identity["detector"] == "fairface"


def test_a_detector_loads_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []

    def counted(path: Path, device: str) -> object:
        loaded.append(path)
        return session(path, device)

    monkeypatch.setattr(fairface, "session", counted)
    detector = build("sim", custom={})
    assert detector.identity["votes"] == "faces"
    assert loaded == []
    for _ in range(3):
        detector.read([blank(1)], BOTH)
    detector.check(BOTH)
    assert loaded == [FILE]


def test_check_finds_what_a_run_would_stumble_over(tmp_path: Path) -> None:
    build("sim", custom={}).check(BOTH)
    faith = Attribute("faith", ("A", "B"), {}, {})
    with pytest.raises(
        InputError, match="detector 'sim': attribute 'faith': 'A' cannot be perceived in a face"
    ):
        build("sim", custom={}).check([*BOTH, faith])
    wrong = network(tmp_path / "wrong.onnx", [("logits", ("batch", 10))])
    detector = build(f"fairface:{wrong}?faces=whole", custom={})
    with pytest.raises(InputError, match="is no FairFace: its outputs are logits"):
        detector.check([GENDER])
    with pytest.raises(DetectorError, match="is no FairFace: its outputs are logits"):
        detector.read([blank(1)], [GENDER])


def test_the_identity_holds_all_that_changes_what_is_read() -> None:
    specs = ["sim", "sim?races=sum", "sim?votes=picture", "sim?margin=0.1", "sim?flip=0.1", "sim?flip=0.2"]
    assert len({str(build(spec, custom={}).identity) for spec in specs}) == len(specs)
