"""Contact sheets of painted pictures: captions, layout and hostile text."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS, TopicCounts
from pytest_factorfair.domain import (
    Answer,
    CaseKey,
    Direction,
    Record,
    Summary,
)
from pytest_factorfair.errors import StoreError
from pytest_factorfair.reports.canvas import COLUMNS, GAP, SIDE, WIDTH, contact_sheets
from pytest_factorfair.reports.html import to_html
from pytest_factorfair.reports.json_report import to_json
from pytest_factorfair.reports.markdown import to_markdown
from pytest_factorfair.reports.responses import PICTURES, Excerpt, Excerpts
from pytest_factorfair.reports.sheets import Caption, sheet
from tests.unit.reports.paper_tables.builders import summary as of_run

SCHEMA = Path(__file__).parents[3] / "checklists" / "schema" / "report.schema.json"
CASE = TopicCase(
    "objective-crime_rate-highest",
    "t2i",
    "objective",
    ("gender", "race"),
    20,
    "crime_rate",
    "Crime Rate",
    "highest",
    "negative",
)
COLOURS = {"red": (200, 30, 30), "blue": (30, 30, 200), "green": (30, 160, 30)}
TRUTHS = {"gender": "Male", "race": "Black"}


def face(query: str, key: str, groups: Mapping[str, str], confidence: Mapping[str, float]) -> Answer:
    return Answer(query, "answered", "", None, groups, {}, key, confidence=confidence)


def seen(query: str, key: str = "red") -> Answer:
    return face(query, key, {"gender": "Female", "race": "Asian"}, {"gender": 0.93, "race": 0.71})


def topic(attribute: str, direction: Direction = "highest") -> TopicCounts:
    identity = ("m", "t2i", "objective", None, attribute, "crime_rate", direction, TRUTHS[attribute])
    return TopicCounts(*identity, fragile=False, counts={}, asked=0, refused=0, unparsed=0, errors=0)


def summary(*answers: Answer, model: str = "m", case: str = CASE.id) -> Summary:
    record = Record(CaseKey(model, "t2i", case), answers)
    topics = (topic("gender"), topic("race"), replace(topic("race", "lowest"), truth="White"))
    return of_run(models={model: {}}, cases=(record,), rows={TOPICS.name: topics})


def picture(key: str, size: tuple[int, int] = (512, 512)) -> bytes:
    if key not in COLOURS:
        raise StoreError(f"{key}: the picture cannot be read")
    stream = BytesIO()
    Image.new("RGB", size, COLOURS[key]).save(stream, "PNG")
    return stream.getvalue()


def painted(tmp_path: Path, summary: Summary) -> NDArray[np.uint8]:
    (written,) = contact_sheets(summary, [CASE], str(tmp_path), picture=picture).sheets
    return np.asarray(Image.open(tmp_path / written.file))


def middle(pixels: NDArray[np.uint8], tile: int, *, first_row: int) -> tuple[int, ...]:
    """The colour in the middle of a tile of the first row."""
    left_edge = GAP + tile * (SIDE + GAP)
    return tuple(pixels[first_row + SIDE // 2, left_edge + SIDE // 2].tolist())


def test_the_heading_has_total_and_truth() -> None:
    lost = Answer("q3", "unparsed", "no face", None, {}, {}, "blue")
    refused = Answer("q4", "refused", "refused by the model", None, {}, {}, "")
    run_summary = summary(seen("q1"), seen("q2"), lost, refused)
    contact_sheet = sheet(run_summary, run_summary.cases[0], CASE)
    assert contact_sheet.heading == "Crime Rate, highest"
    assert contact_sheet.lines == (
        "objective · m",
        "4 pictures: 2 faces, 1 no face, 1 refused",
        "gender, perceived: Female 2; true: Male",
        "race, perceived: Asian 2; true: Black",
    )


def test_captions_have_labels_and_confidences() -> None:
    run_summary = summary(
        seen("q1"),
        face("q2", "red", {"gender": "Male"}, {"gender": 0.5}),
        face("q3", "red", {"gender": "Male"}, {"gender": 0.999}),
        Answer("q4", "unparsed", "no face", None, {}, {}, "blue"),
        Answer("q5", "error", "HTTP 500", None, {}, {}, ""),
    )
    assert [tile.captions for tile in sheet(run_summary, run_summary.cases[0], CASE).tiles] == [
        (Caption("Female .93 · Asian .71"),),
        (Caption("Male .50", "unsure"),),
        (Caption("Male >.99"),),
        (Caption("no face", "none"),),
        (Caption("HTTP 500", "failed"),),
    ]


def test_faces_of_a_picture_share_its_tile() -> None:
    run_summary = summary(*(seen("q1") for _ in range(5)), seen("q2"))
    crowded, single = sheet(run_summary, run_summary.cases[0], CASE).tiles
    assert [caption.text for caption in crowded.captions] == [
        "1: Female .93 · Asian .71", "2: Female .93 · Asian .71", "3: Female .93 · Asian .71", "and 2 more faces",
    ]  # fmt: skip
    assert (crowded.number, single.number, len(single.captions)) == (1, 2, 1)


def test_pictures_stand_in_their_places(tmp_path: Path) -> None:
    """A row of five and a sixth below: the sheet is five tiles wide, colours are where their answers are."""
    keys = ["red", "blue", "green", "gone", "red", "blue"]
    pixels = painted(tmp_path, summary(*(seen(f"q{number}", key) for number, key in enumerate(keys))))
    assert pixels.shape[1] == WIDTH == COLUMNS * SIDE + (COLUMNS + 1) * GAP
    first_row = GAP + 36 + 4 * 20 + GAP
    for tile, key in enumerate(keys[:5]):
        colour = COLOURS.get(key, (236, 239, 242))
        assert middle(pixels, tile, first_row=first_row) == pytest.approx(colour, abs=6)
    second_row = first_row + SIDE + 2 * 20 + GAP
    assert middle(pixels, 0, first_row=second_row) == pytest.approx(COLOURS["blue"], abs=6)


def test_a_picture_keeps_its_shape_and_a_small_one_is_enlarged(tmp_path: Path) -> None:
    run_summary = summary(seen("q1"))
    first_row = GAP + 36 + 4 * 20 + GAP
    for size, (height, width) in (((800, 400), (116, 232)), ((96, 48), (96, 192))):
        fetch = partial(picture, size=size)
        (written,) = contact_sheets(run_summary, [CASE], str(tmp_path), picture=fetch).sheets
        pixels = np.asarray(Image.open(tmp_path / written.file)).astype(int)
        area = pixels[first_row : first_row + SIDE, GAP : GAP + SIDE]
        red = (area[..., 0] - area[..., 2]) > 80
        assert red.any(axis=1).sum() == pytest.approx(height, abs=2)
        assert red.any(axis=0).sum() == pytest.approx(width, abs=2)


def test_pictures_are_fetched_one_by_one(tmp_path: Path) -> None:
    asked: list[str] = []

    def fetch(key: str) -> bytes:
        asked.append(key)
        return picture(key)

    contact_sheets(summary(seen("q1"), seen("q1"), seen("q2", "blue")), [CASE], str(tmp_path), picture=fetch)
    assert asked == ["red", "blue"]


def test_all_are_counted_and_a_hundred_are_shown(tmp_path: Path) -> None:
    run_summary = summary(*(seen(f"q{number}") for number in range(PICTURES + 1)))
    contact_sheet = sheet(run_summary, run_summary.cases[0], CASE)
    assert contact_sheet.lines[1] == "101 pictures (the first 100 are shown): 101 faces"
    small = partial(picture, size=(32, 32))
    (written,) = contact_sheets(run_summary, [CASE], str(tmp_path), picture=small).sheets
    assert (written.pictures, written.shown) == (101, 100)


@pytest.mark.parametrize(
    "hostile", ["\x1b[31m\r\n\t\x00", "\ud800", "\u202egnp", "W" * 100_000, "🙂" * 40, ""]
)
def test_hostile_text_is_harmless(tmp_path: Path, hostile: str) -> None:
    shown = face("q1", "red", {"gender": hostile}, {"gender": 0.9})
    lost = Answer("q2", "error", hostile, None, {}, {}, "")
    pixels = painted(tmp_path, summary(shown, lost))
    assert pixels.shape[1] == WIDTH
    assert pixels.shape[0] < 600


@pytest.mark.parametrize("model", ["..", "../../etc", "/", "a\x00b"])
def test_a_sheet_stays_in_its_folder(tmp_path: Path, model: str) -> None:
    (written,) = contact_sheets(
        summary(seen("q1"), model=model), [CASE], str(tmp_path / "in"), picture=picture
    ).sheets
    assert (tmp_path / "in" / "pictures").resolve() in (tmp_path / "in" / written.file).resolve().parents
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_cases_of_two_checklists_have_separate_files(tmp_path: Path) -> None:
    run_summary = summary(seen("q1"))
    twin = Record(CaseKey("m", "mine", CASE.id), (seen("q1"),))
    two = replace(run_summary, cases=(*run_summary.cases, twin))
    written = contact_sheets(
        two, [CASE, replace(CASE, checklist="mine")], str(tmp_path), picture=picture
    ).sheets
    assert [contact_sheet.file for contact_sheet in written] == [
        f"pictures/m/t2i-{CASE.id}.jpg",
        f"pictures/m/mine-{CASE.id}.jpg",
    ]


def test_nothing_is_left_of_a_sheet_that_could_not_be_written(tmp_path: Path) -> None:
    def full(key: str) -> bytes:
        raise OSError(28, "No space left on device", key)

    with pytest.raises(OSError, match="No space left"):
        contact_sheets(summary(seen("q1")), [CASE], str(tmp_path), picture=full)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_reports_list_the_sheets(tmp_path: Path) -> None:
    run_summary = summary(seen("q1"), model="a b")
    sheets = contact_sheets(run_summary, [CASE], str(tmp_path), picture=picture).sheets
    run_summary = replace(run_summary, contact_sheets=sheets)
    assert f"](pictures/a-b/{CASE.id}.jpg), 1 picture" in to_markdown(run_summary)
    report = json.loads(to_json(run_summary))
    assert report["contact_sheets"][0]["file"] == f"pictures/a-b/{CASE.id}.jpg"
    schema = json.loads(SCHEMA.read_text())["properties"]["contact_sheets"]
    jsonschema.validate(report["contact_sheets"], schema)


def on_page(summary: Summary, folder: Path) -> list[dict[str, str]]:
    """The replies that the page holds, with the pictures that an album has for them."""
    album = contact_sheets(summary, [CASE], str(folder), picture=picture)
    excerpts = [
        Excerpts(
            record.case, tuple(Excerpt("p", "", 0, answer) for answer in record.answers), len(record.answers)
        )
        for record in summary.cases
    ]
    summary = replace(summary, contact_sheets=album.sheets, rows={})  # no cells
    page = to_html(summary, excerpts, [CASE], folder, thumbnails=album.thumbnails)
    packed = page.split('id="replies">')[1].split("<")[0]
    (case,) = json.loads(gzip.decompress(base64.b64decode(packed)))
    shown: list[dict[str, str]] = case["shown"]
    return shown


def detected(*answers: Answer) -> Summary:
    """Of a run with a detector: without one, replies are no pictures."""
    run_summary = summary(*answers)
    return replace(run_summary, fingerprint=replace(run_summary.fingerprint, detector={"detector": "sim"}))


def test_the_page_has_small_copies_of_pictures_or_says_why_not(tmp_path: Path) -> None:
    refused = Answer("q3", "refused", "no people", None, {}, {}, "")
    small, gone, none = on_page(detected(seen("q1", "blue"), seen("q2", "gone"), refused), tmp_path)
    pixels = np.asarray(Image.open(BytesIO(base64.b64decode(small["picture"]))))
    assert pixels.shape == (SIDE // 2, SIDE // 2, 3)
    assert pixels.mean(axis=(0, 1)) == pytest.approx(COLOURS["blue"], abs=5)
    assert (gone["picture"], gone["lacks"]) == ("", "gone: the picture cannot be read")
    assert (none["picture"], none["lacks"]) == ("", "")


def test_small_copies_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_factorfair.reports.canvas.SMALL_BYTES", 2000)
    run_summary = detected(seen("q1", "red"), seen("q2", "blue"), seen("q3", "green"))
    lengths = [len(base64.b64decode(reply["picture"])) for reply in on_page(run_summary, tmp_path)]
    assert 0 < sum(lengths) <= 2000
    assert 0 in lengths
    assert "no room" in on_page(run_summary, tmp_path)[lengths.index(0)]["lacks"]


def test_small_copies_are_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_factorfair.reports.canvas.THUMBNAILS", 1)
    red, blue = on_page(detected(seen("q1", "red"), seen("q2", "blue")), tmp_path)
    assert red["picture"]
    assert not blue["picture"]
