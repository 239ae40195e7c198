"""The pipeline of detectors: order, batches and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Barrier, get_ident

import numpy as np
import pytest

from pytest_factorfair.detection import faces, pipeline
from pytest_factorfair.detection.faces import CodeCards
from pytest_factorfair.detection.pipeline import AHEAD, LEAST, MOST, PORTION, SMALL, Pipeline
from pytest_factorfair.detection.protocol import Floats, Location
from pytest_factorfair.errors import DetectorError, PictureError
from pytest_factorfair.pictures.cards import blank, paint
from pytest_factorfair.pictures.decode import Pixels, png


class Brightness:
    """A classifier of two classes, with the chip's mean brightness as probability; records its batch sizes."""

    classes: Mapping[str, tuple[str, ...]] = {"gender": ("Male", "Female")}
    identity: Mapping[str, object] = {"detector": "brightness"}

    def __init__(self) -> None:
        self.batches: list[int] = []

    def load(self) -> None:
        """Do nothing."""

    def predict(self, chips: Pixels) -> Mapping[str, Floats]:
        self.batches.append(len(chips))
        share = (chips.mean(axis=(1, 2, 3)) / 255).astype(np.float32)
        return {"gender": np.stack([share, 1 - share], axis=1)}


def flat(level: int) -> bytes:
    from io import BytesIO

    from PIL import Image

    content = BytesIO()
    Image.new("L", (8, 8), level).save(content, "PNG")
    return content.getvalue()


def males(reader: Pipeline, pictures: Sequence[bytes]) -> list[list[float] | str]:
    return [
        str(perceived)
        if isinstance(perceived, PictureError)
        else [face.probabilities["gender"]["Male"] for face in perceived]
        for perceived in reader.perceive(pictures)
    ]


def test_answers_come_in_the_order_of_the_pictures() -> None:
    levels = np.random.default_rng(1).integers(0, 256, 300).tolist()
    network = Brightness()
    male_shares = np.array(
        males(Pipeline(faces.WholePicture(), network), [flat(level) for level in levels]), float
    )
    assert male_shares == pytest.approx(np.array(levels)[:, None] / 255, abs=1e-6)
    assert sum(network.batches) == 300
    assert all(LEAST <= size <= MOST for size in network.batches[:-1])


def test_pictures_with_several_faces_none_and_damage() -> None:
    pictures = [paint({}, {}, {}, seed=1), blank(2), b"", paint({}, seed=3), b"<html>", blank(4)]
    network = Brightness()
    male_shares = males(Pipeline(CodeCards(), network), pictures)
    assert [shares if isinstance(shares, str) else len(shares) for shares in male_shares] == [
        3, 0, "the picture is empty (0 bytes)", 1, "not a picture but HTML (6 bytes)", 0,
    ]  # fmt: skip
    assert network.batches == [4]


def test_no_pictures_give_no_detections() -> None:
    network = Brightness()
    assert males(Pipeline(faces.WholePicture(), network), []) == []
    assert males(Pipeline(CodeCards(), network), [blank(1)]) == [[]]
    assert network.batches == []


def test_crowds_are_cut_into_batches() -> None:
    network = Brightness()
    (male_shares,) = males(Pipeline(CodeCards(), network), [paint(*[{}] * 150, seed=1)])
    assert len(male_shares) == 150
    assert network.batches == [64, 64, 22]


def test_pictures_are_taken_up_as_they_are_classified() -> None:
    """Memory is bounded: of 10,000 pictures, only a limited number waits to be classified."""
    taken: list[int] = []

    class Counting(faces.WholePicture):
        def detect(self, pixels: Pixels) -> tuple[Location, ...]:
            taken.append(1)
            return super().detect(pixels)

    ahead = [
        len(taken) - done
        for done, _ in enumerate(Pipeline(Counting(), Brightness()).perceive([flat(1)] * 600))
    ]
    assert max(ahead) <= (AHEAD + 2) * PORTION + LEAST
    assert len(taken) == 600


def test_pictures_are_prepared_off_the_thread_that_classifies() -> None:
    prepared, classified = set(), set()

    class Watched(faces.WholePicture):
        def detect(self, pixels: Pixels) -> tuple[Location, ...]:
            prepared.add(get_ident())
            return super().detect(pixels)

    class Network(Brightness):
        def predict(self, chips: Pixels) -> Mapping[str, Floats]:
            classified.add(get_ident())
            return super().predict(chips)

    males(Pipeline(Watched(), Network()), [flat(1)] * 100)
    assert classified == {get_ident()}
    assert prepared
    assert get_ident() not in prepared


def test_a_few_large_pictures_are_spread_over_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of four large pictures are decoded at the same time, so no thread has taken both."""
    monkeypatch.setattr(pipeline, "_THREADS", 2)
    met = Barrier(2, timeout=30)

    class Meeting(faces.WholePicture):
        def detect(self, pixels: Pixels) -> tuple[Location, ...]:
            met.wait()
            return super().detect(pixels)

    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert len(png(noise)) > SMALL
    assert len(males(Pipeline(Meeting(), Brightness()), [png(noise)] * 4)) == 4


def test_small_pictures_are_prepared_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_THREADS", 4)
    prepared = set()

    class Watched(faces.WholePicture):
        def detect(self, pixels: Pixels) -> tuple[Location, ...]:
            prepared.add(get_ident())
            return super().detect(pixels)

    assert len(males(Pipeline(Watched(), Brightness()), [flat(1)] * 200)) == 200
    assert len(prepared) == 1


def test_a_finder_that_cannot_work_stops_everything() -> None:
    class Broken(faces.WholePicture):
        def detect(self, pixels: Pixels) -> tuple[Location, ...]:
            raise DetectorError(f"no faces in {pixels.shape}")

    with pytest.raises(DetectorError, match=r"no faces in \(8, 8, 3\)"):
        list(Pipeline(Broken(), Brightness()).perceive([flat(1)] * 40))
