"""From pictures and probabilities to groups: all mappings (computed by hand), votes, order, errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_factorfair.detection import build, fairface, groups
from pytest_factorfair.detection.fairface import session
from pytest_factorfair.detection.groups import majority
from pytest_factorfair.detection.protocol import Location, PerceivedFace
from pytest_factorfair.detection.simulated import FILE
from pytest_factorfair.domain import Attribute, Face
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.pictures.cards import blank, paint
from pytest_factorfair.pictures.classes import HEADS, grouping
from tests.unit.detection.builders import BOTH, GENDER, RACE, network

MALE, FEMALE = {"gender": 0, "race": 0}, {"gender": 1, "race": 1}


def test_every_picture_has_its_detection() -> None:
    pictures = [paint(FEMALE, seed=1), blank(2), b"", paint({"race": 3, "gender": 0}, seed=3)]
    female, none, broken, male = build("sim", custom={}).read(pictures, BOTH)
    assert [face.groups for face in female.faces] == [{"gender": "Female", "race": "Black"}]
    assert (none.faces, none.error) == ((), "")
    assert (broken.faces, broken.error) == ((), "the picture is empty (0 bytes)")
    assert [face.groups for face in male.faces] == [{"gender": "Male", "race": "Asian"}]
    assert female.faces[0].box[2:] == (56, 56)


def test_votes_of_a_picture() -> None:
    picture = paint(MALE, FEMALE, {"gender": 0, "race": 3}, seed=1)
    (all_votes,) = build("sim", custom={}).read([picture], BOTH)
    assert len(all_votes.faces) == 3
    (majority,) = build("sim?votes=picture", custom={}).read([picture], BOTH)
    assert [face.groups for face in majority.faces] == [{"gender": "Male"}]
    (none,) = build("sim?votes=picture", custom={}).read([blank(1)], BOTH)
    assert none.faces == ()


@pytest.mark.parametrize(
    ("races", "expected"),
    [("census", ["Asian", "White"]), ("other", [None, None])],
)
def test_the_mapping_decides_over_indian_and_middle_eastern(races: str, expected: list[str | None]) -> None:
    pictures = [paint({"race": race}, seed=race) for race in (5, 6)]
    detector = build(f"sim?races={races}", custom={})
    assert [detection.faces[0].groups.get("race") for detection in detector.read(pictures, BOTH)] == expected


def test_a_fairface_file_with_whole_pictures(tmp_path: Path) -> None:
    copy = tmp_path / "fairface.onnx"
    copy.write_bytes(FILE.read_bytes())
    detector = build(f"fairface:{copy}?faces=whole&device=cpu", custom={})
    (detection,) = detector.read([paint(MALE, seed=1)], BOTH)
    assert detection.faces[0].box == (0, 0, 96, 96)
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


def test_check_finds_unusable_attributes_before_a_run(tmp_path: Path) -> None:
    build("sim", custom={}).check(BOTH)
    faith = Attribute("faith", ("A", "B"), {}, {})
    with pytest.raises(
        InputError, match="detector 'sim': attribute 'faith': 'A' cannot be perceived in a face"
    ):
        build("sim", custom={}).check([*BOTH, faith])
    wrong = network(tmp_path / "wrong.onnx", [("logits", ("batch", 10))])
    detector = build(f"fairface:{wrong}?faces=whole", custom={})
    with pytest.raises(InputError, match="is not a FairFace model: its outputs are logits"):
        detector.check([GENDER])
    with pytest.raises(DetectorError, match="is not a FairFace model: its outputs are logits"):
        detector.read([blank(1)], [GENDER])


def test_the_identity_holds_all_that_changes_what_is_read() -> None:
    specs = ["sim", "sim?races=sum", "sim?votes=picture", "sim?margin=0.1", "sim?flip=0.1", "sim?flip=0.2"]
    assert len({str(build(spec, custom={}).identity) for spec in specs}) == len(specs)


FIVE = Attribute("race", ("european", "east_asian", "african", "latino", "south_asian"), {}, {})
AGE = Attribute("age", ("young", "middle_aged", "elderly"), {}, {})


def race(*percent: float) -> dict[str, float]:
    """Probabilities of the races White, Black, Latino, East, Southeast, Indian, Middle Eastern."""
    return dict(zip(HEADS["race"], (share / 100 for share in percent), strict=True))


def seen(*percent: float, male: float = 0.9, age: str = "20-29") -> PerceivedFace:
    probabilities = {"race": race(*percent), "gender": {"Male": male, "Female": 1 - male}, "age": {age: 1.0}}
    return PerceivedFace(Location((1, 2, 3, 4)), probabilities)


def named(perceived: PerceivedFace, attributes: Sequence[Attribute], *, races: str, margin: float) -> Face:
    groupings = {attribute.name: grouping(attribute, races) for attribute in attributes}
    return groups.face(perceived, groupings, margin=margin)


SPLIT = (41, 2, 3, 30, 18, 4, 2)  # Asian by 48 % of two, 52 % of three, White by the largest single class
INDIAN = (20, 10, 25, 5, 5, 30, 5)
MIDDLE = (20, 5, 30, 5, 5, 5, 30)


@pytest.mark.parametrize(
    ("percent", "races", "group", "share"),
    [
        (SPLIT, "census", "Asian", 0.52),
        (SPLIT, "sum", "Asian", 48 / 94),
        (SPLIT, "published-code", "White", 41 / 94),
        (SPLIT, "other", "Asian", 0.48),
        ((22, 0, 0, 40, 38, 0, 0), "published-code", "Asian", 0.40),
        ((41, 0, 0, 40, 19, 0, 0), "published-code", "White", 0.41),
        ((41, 0, 0, 40, 19, 0, 0), "sum", "Asian", 0.59),
        (INDIAN, "census", "Asian", 0.40),
        (INDIAN, "sum", "Hispanic", 25 / 65),
        (INDIAN, "published-code", "Hispanic", 25 / 65),
        (INDIAN, "other", "", 0.35),
        (MIDDLE, "census", "White", 0.50),
        (MIDDLE, "sum", "Hispanic", 30 / 65),
        (MIDDLE, "other", "", 0.35),
    ],
)
def test_seven_races_to_four(percent: tuple[float, ...], races: str, group: str, share: float) -> None:
    shares = groups.shares(race(*percent), grouping(RACE, races))
    assert max(shares, key=lambda candidate: shares[candidate]) == group
    assert shares[group] == pytest.approx(share)
    assert named(seen(*percent), [RACE], races=races, margin=0).groups == ({"race": group} if group else {})


def test_the_likeliest_group_may_not_have_the_likeliest_class() -> None:
    """The published code does not add East and Southeast Asian; the example of its authors has 119 parts."""
    parts = {"White": 41, "East Asian": 40, "Southeast Asian": 38}
    published, summed = (groups.shares(parts, grouping(RACE, races)) for races in ("published-code", "sum"))
    assert published["White"] > published["Asian"]
    assert summed["Asian"] == pytest.approx(78 / 119)


@pytest.mark.parametrize("races", ["census", "sum", "other"])
def test_shares_add_up_to_one(races: str) -> None:
    assert sum(groups.shares(race(*SPLIT), grouping(RACE, races)).values()) == pytest.approx(1)


def test_five_races_and_three_ages() -> None:
    face = named(seen(*MIDDLE, age="60-69"), [FIVE, AGE], races="census", margin=0)
    assert face.groups == {"race": "latino", "age": "elderly"}
    assert face.confidence["race"] == pytest.approx(0.60)
    assert named(seen(20, 10, 15, 5, 15, 30, 5), [FIVE], races="sum", margin=0).groups == {
        "race": "south_asian"
    }
    edges = {
        "0-2": "young",
        "20-29": "young",
        "30-39": "middle_aged",
        "50-59": "middle_aged",
        "70+": "elderly",
    }
    for name, group in edges.items():
        assert named(seen(*SPLIT, age=name), [AGE], races="census", margin=0).groups == {"age": group}


def test_the_face_keeps_its_place_and_its_confidence() -> None:
    face = named(seen(*SPLIT), BOTH, races="census", margin=0)
    assert face.groups == {"gender": "Male", "race": "Asian"}
    assert face.confidence == pytest.approx({"gender": 0.9, "race": 0.52})
    assert face.box == (1, 2, 3, 4)


@pytest.mark.parametrize(("margin", "assigned"), [(0, True), (0.09, True), (0.11, False)])
def test_near_ties_are_left_out(margin: float, assigned: bool) -> None:  # noqa: FBT001 - a table
    face = named(seen(*SPLIT, male=0.55), BOTH, races="census", margin=margin)  # race leads by .09
    assert ("gender" in face.groups) == assigned
    assert face.confidence.keys() == face.groups.keys()


def test_a_face_of_no_group_at_all_has_none() -> None:
    assert groups.shares(race(0, 0, 0, 0, 0, 60, 40), grouping(RACE, "sum")) == {}
    assert named(seen(0, 0, 0, 0, 0, 60, 40), [RACE], races="sum", margin=0).groups == {}


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({"gender": ("Male", "Female")}, "attribute 'race': the detector cannot perceive 'White'; its classes: none for this attribute"),
        ({**HEADS, "race": ("White", "Black", "Asian")}, "attribute 'race': the detector cannot perceive 'Hispanic'; its classes: White, Black, Asian"),
    ],
)  # fmt: skip
def test_what_a_detector_cannot_perceive(classes: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(InputError) as error:
        groups.check(BOTH, classes, "sum")
    assert str(error.value) == message
    groups.check(BOTH, HEADS, "other")


def face(gender: str, race: str = "", *, x: float = 0, sure: float = 0.8) -> Face:
    named = {name: group for name, group in {"gender": gender, "race": race}.items() if group}
    return Face(named, dict.fromkeys(named, sure), (x, 10, 20, 30))


def test_one_vote_for_the_picture() -> None:
    faces = (
        face("Male", "Black", sure=0.9),
        face("Female", "Black", x=50, sure=0.7),
        face("Male", "", x=100, sure=0.5),
    )
    (vote,) = majority(faces)
    assert vote.groups == {"gender": "Male", "race": "Black"}
    assert vote.confidence == {"gender": pytest.approx(0.7), "race": pytest.approx(0.8)}
    assert vote.box == (0, 10, 120, 30)


def test_a_tie_leaves_the_attribute_out() -> None:
    (vote,) = majority((face("Male", "Black"), face("Female", "Black")))
    assert vote.groups == {"race": "Black"}
    three = majority((face("Male", "Black"), face("Male", "White"), face("Female", "Asian")))
    assert three[0].groups == {"gender": "Male"}


def test_no_face_no_vote() -> None:
    assert majority(()) == ()
