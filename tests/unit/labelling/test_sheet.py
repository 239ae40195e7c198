"""The sheet can be edited with any spreadsheet and read again; errors name file, line and column."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError
from pytest_factorfair.labelling.sheet import LabelledFace, Spot, read, write

GENDER = Attribute("gender", ("Male", "Female"), {"Male": "male"}, {"Male": ("man",), "Female": ("woman",)})
RACE = Attribute("race", ("White", "=HYPERLINK(1)"), {}, {})
HEAD = "picture,face,box,gender 1: Male | Female,gender 2\n"


def _file(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_row_per_face_and_a_column_per_annotator(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    write(
        path,
        [Spot("pictures/1.png", 1, (-3.4, 2.6, 10, 20)), Spot("pictures/2.png")],
        [GENDER, RACE],
        ["1", "2"],
    )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "picture", "face", "box",
        "gender 1: Male | Female | unclear | no face", "gender 2: Male | Female | unclear | no face",
        "race 1: White | =HYPERLINK(1) | unclear | no face", "race 2: White | =HYPERLINK(1) | unclear | no face",
    ]  # fmt: skip
    assert rows[1:] == [
        ["pictures/1.png", "1", "0 3 10 20", *[""] * 4],
        ["pictures/2.png", "1", "", *[""] * 4],
    ]


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_is_a_formula(tmp_path: Path, name: str) -> None:
    path = tmp_path / "labels.csv"
    write(path, [Spot(name)], [GENDER], ["1"])
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1][0] == f"'{name}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sheets_saved_by_any_spreadsheet_are_read(
    tmp_path: Path, encoding: str, delimiter: str, end: str
) -> None:
    text = HEAD + "p/1.png,1,1 2 3 4, MAN ,female\n\np/2.png,2,,Unclear,\n,,,,\n"
    path = _file(tmp_path, text.replace(",", delimiter).replace("\n", end), encoding)
    assert read(path, [GENDER, RACE]) == (
        LabelledFace(Spot("p/1.png", 1, (1, 2, 3, 4)), {"gender": ("Male", "Female")}),
        LabelledFace(Spot("p/2.png", 2), {"gender": ("unclear", None)}),
    )


def test_annotators_by_pseudonym(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    write(path, [Spot("p/1.png")], [GENDER], ["e1", "e2"])
    filled = path.read_text(encoding="utf-8").replace("p/1.png,1,,,", "p/1.png,1,,man,Female")
    path.write_text(filled, encoding="utf-8")
    assert filled.startswith("picture,face,box,gender e1: Male | Female | unclear | no face,gender e2: ")
    assert read(path, [GENDER]) == (LabelledFace(Spot("p/1.png"), {"gender": ("Male", "Female")}),)


def test_a_marked_cell_is_read_as_it_was(tmp_path: Path) -> None:
    path = _file(tmp_path, "picture,face,box,race 1\np,1,,'=HYPERLINK(1)\n")
    assert read(path, [RACE])[0].labels == {"race": ("=HYPERLINK(1)",)}


BAD = {
    "label": (HEAD + "p,1,,Femal,\n", ":2: gender 1: 'Femal' is not one of Male, Female, unclear, no face; did you mean 'Female'?"),
    "later line": (HEAD + "p,1,,Male,\np,1,,Male,7\n", ":3: gender 2: '7' is not one of Male, Female, unclear, no face"),
    "column": ("picture,face,box,gendre 1\np,1,,Male\n", ": column 'gendre' is not an attribute of the checklist; did you mean 'gender'?"),
    "note": ("picture,face,box,remarks\np,1,,x\n", ": column 'remarks' is not an attribute of the checklist"),
    "missing": ("picture,box,gender 1\np,,Male\n", ": column 'face' is missing"),
    "twice": ("picture,face,box,gender 1,gender 1\np,1,,Male,Male\n", ": column 'gender 1' appears twice"),
    "no labels": ("picture,face,box\np,1,\n", ": there is no column of labels; expected e.g. 'gender 1'"),
    "empty": ("", ": the sheet is empty"),
    "only heads": (HEAD, ": contains no labels yet"),
    "unfilled": (HEAD + "p,1,,,\n", ": contains no labels yet"),
    "outside": (HEAD + "../../etc/passwd,1,,Male,\n", ":2: picture: '../../etc/passwd' is not a path inside the sheet's folder"),
    "absolute": (HEAD + "/etc/passwd,1,,Male,\n", ":2: picture: '/etc/passwd' is not a path"),
    "face": (HEAD + "p,0,,Male,\n", ":2: face: expected a number of at least 1, got '0'"),
    "long face": (HEAD + f"p,{'9' * 5000},,Male,\n", ":2: face: expected a number of at least 1, got '99999999999999999999'"),
    "box": (HEAD + "p,1,1 2 3,Male,\n", ":2: box: expected 'x y width height' in pixels, got '1 2 3'"),
    "endless box": (HEAD + "p,1,1 2 3 inf,Male,\n", ":2: box: expected a width and height above 0"),
    "box nowhere": (HEAD + "p,1,nan 2 3 4,Male,\n", ":2: box: expected a width and height above 0"),
    "flat box": (HEAD + "p,1,1 2 0 4,Male,\n", ":2: box: expected a width and height above 0"),
    "broken": (HEAD + 'p,1,,"Male\n', ": not a CSV file: "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_errors_name_line_and_column(tmp_path: Path, case: str) -> None:
    text, words = BAD[case]
    path = _file(tmp_path, text)
    with pytest.raises(InputError) as error:
        read(path, [GENDER])
    assert str(error.value).startswith(f"{path}")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read(tmp_path / "none.csv", [GENDER])
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read(_file(tmp_path, HEAD + "é", "latin-1"), [GENDER])
