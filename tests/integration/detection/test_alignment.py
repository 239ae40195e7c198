"""Comparing pictures with sentences: a tiny random CLIP, checked against direct calls of transformers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.detection import Detector, build
from pytest_factorfair.detection.alignment import cropped
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import InputError
from tests import tiny_checkpoint
from tests.extras import needs
from tests.unit.galleries import shipped

pytestmark = needs("transformers")

SIZES = ((32, 32), (57, 40), (33, 92), (200, 31), (1, 7))
"""Scaled to 32, none of them has its middle between two pixels where transformers cuts elsewhere."""
LABELS = {
    "gender": ["man", "woman"],
    "race": ["European", "East-asian", "African", "Latino", "South-Asian"],
    "age": ["10~29 years old", "31~59 years old", "60 years old or older"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write_clip(tmp_path_factory.mktemp("clip"))


def picture(width: int, height: int, seed: int = 0) -> bytes:
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def by_hand(folder: Path, pictures: Sequence[bytes], sentences: list[str]) -> list[list[float]]:
    """The probabilities of the sentences for each picture, computed directly with transformers."""
    from PIL import Image

    torch, transformers = import_module("torch"), import_module("transformers")
    model = transformers.CLIPModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    pixels = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )(images=[Image.open(BytesIO(picture)) for picture in pictures], return_tensors="pt")
    with torch.inference_mode():
        output = model(**tokenizer(sentences, padding=True, return_tensors="pt"), **pixels)
    probabilities: list[list[float]] = output.logits_per_image.softmax(dim=1).tolist()
    return probabilities


def aligned(folder: Path, options: str = "") -> Detector:
    return build(f"clip:{folder}?align=published-code&device=cpu{options}", custom={})


def shares(faces: tuple[Face, ...] | None) -> list[list[float]]:
    return [
        [share for group_shares in face.shares.values() for share in group_shares.values()]
        for face in faces or ()
    ]


def test_probabilities_are_those_of_transformers_for_one_person_and_for_two(folder: Path) -> None:
    attributes = shipped().attributes
    pictures = [picture(*size, seed) for seed, size in enumerate(SIZES)]
    detections = aligned(folder, "&person=0").read(pictures, attributes)
    for forms, faces in (
        (["{}"], [detection.faces for detection in detections]),
        (
            ["people on the left is {}", "people on the right is {}"],
            [detection.sides for detection in detections],
        ),
    ):
        for side, form in enumerate(forms):
            rows: list[list[float]] = [[] for _ in SIZES]
            for labels in LABELS.values():
                probabilities = by_hand(folder, pictures, [form.format(label) for label in labels])
                rows = [
                    row + probability_row for row, probability_row in zip(rows, probabilities, strict=True)
                ]
            for index, row in enumerate(rows):
                assert shares(faces[index])[side] == pytest.approx(row, abs=2e-5)


@pytest.mark.parametrize(("length", "offset"), [(5, 0), (6, 1), (7, 2), (8, 2), (9, 2), (11, 4)])
def test_the_centre_crop_equals_torchvisions(length: int, offset: int) -> None:
    """The crop begins at int(round((length - 4) / 2)), with halves to even; transformers would round down."""
    wide = np.zeros((4, length, 3), np.uint8) + np.arange(length, dtype=np.uint8)[:, None]
    assert cropped(wide, 4)[0, :, 0].tolist() == list(range(offset, offset + 4))
    assert cropped(wide.swapaxes(0, 1), 4)[:, 0, 0].tolist() == list(range(offset, offset + 4))


def test_a_person_has_the_likeliest_groups_and_the_pictures_place(folder: Path) -> None:
    (detection,) = aligned(folder, "&person=0").read([picture(60, 40)], shipped().attributes)
    (alone,), (left_face, right_face) = detection.faces, detection.sides or ()
    assert [face.box for face in (alone, left_face, right_face)] == [
        (0, 0, 60, 40),
        (0, 0, 30, 40),
        (30, 0, 30, 40),
    ]
    for face in (alone, left_face, right_face):
        for name, group_shares in face.shares.items():
            assert group_shares[face.groups[name]] == face.confidence[name] == max(group_shares.values())
            assert sum(group_shares.values()) == pytest.approx(1, abs=1e-5)


def test_a_picture_less_like_people_than_the_threshold_shows_nobody(folder: Path) -> None:
    pictures = [picture(40, 40, seed) for seed in range(6)]
    two_people = "one people on the left and one people on the right"
    people = [row[0] for row in by_hand(folder, pictures, ["a people", "not a people"])]
    both = [row[0] for row in by_hand(folder, pictures, [two_people, f"not {two_people}"])]
    assert max(people) - min(people) > 0.01
    for probabilities, counts in (
        (people, lambda detection: len(detection.faces)),
        (both, lambda detection: len(detection.sides) / 2),
    ):
        middle = sorted(probabilities)[2:4]
        threshold = sum(middle) / 2
        detections = aligned(folder, f"&person={threshold}").read(pictures, shipped().attributes)
        assert [counts(detection) for detection in detections] == [
            int(probability >= threshold) for probability in probabilities
        ]


def test_a_broken_picture_is_an_error_of_its_own(folder: Path) -> None:
    whole = picture(40, 40)
    detector = aligned(folder, "&person=0")
    broken, read, empty = detector.read([whole[:100], whole, b""], shipped().attributes)
    assert broken.error.startswith("the picture is broken: ")
    assert empty.error == "the picture is empty (0 bytes)"
    assert (read,) == detector.read([whole], shipped().attributes)
    assert detector.read([], shipped().attributes) == ()
    assert detector.read([b""], shipped().attributes)[0].sides is None


def test_groups_of_other_checklists_are_labelled_with_their_words(folder: Path) -> None:
    hats = Attribute("hat", ("none", "Tall"), {"Tall": "a tall hat"}, {})
    (detection,) = aligned(folder, "&person=0").read([picture(40, 40)], [hats])
    (row,) = by_hand(folder, [picture(40, 40)], ["none", "a tall hat"])
    assert shares(detection.faces) == [pytest.approx(row, abs=2e-5)]
    twice = Attribute("hat", ("none", "Tall"), {"Tall": "none"}, {})
    with pytest.raises(InputError, match="two groups of 'hat' have the same label"):
        aligned(folder).check([twice])


def test_a_model_in_the_cache_of_the_hub(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("huggingface_hub").constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"that this machine has \(hf download some/clip\)$"):
        aligned(Path("some/clip"))
    model = tmp_path / "models--some--clip"
    shutil.copytree(folder, model / "snapshots" / ("a" * 40))
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("a" * 40)
    assert aligned(Path("some/clip")).identity == aligned(folder).identity


def test_damaged_weights_are_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "clip")
    (tmp_path / "clip" / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(InputError) as error:
        aligned(tmp_path / "clip").check(shipped().attributes)
    assert f"'{tmp_path / 'clip'}' cannot be loaded as a CLIP model: " in str(error.value)
    assert "\n" not in str(error.value)


def test_identity_names_what_changes_a_reading(folder: Path) -> None:
    identity = aligned(folder, "&person=0.3").identity
    assert {**identity, "sha256": ""} == {
        "detector": "clip",
        "align": "published-code",
        "person": 0.3,
        "sha256": "",
    }


def test_detections_of_one_and_of_two_people() -> None:
    face = Face({}, {}, (0, 0, 1, 1))
    assert Detection((face,)).shown(2) == (face,)
    detection = Detection((face,), sides=())
    assert (detection.shown(None), detection.shown(1), detection.shown(2)) == ((face,), (face,), ())
