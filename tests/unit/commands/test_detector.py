"""``factorfair detector sample|evaluate|export|fetch``, from painted pictures in a store to an error table."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from PIL import Image

from pytest_factorfair import benchmarks, detection
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Attribute, Response
from pytest_factorfair.labelling.error_table import tables
from pytest_factorfair.pictures.cards import blank, paint
from pytest_factorfair.statistics.confusion import Confusion
from pytest_factorfair.store import Store
from tests import keeping
from tests.project import program

PICTURES = 40

OWN_DETECTOR = program("detector_without_faces")


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with 40 pictures of each of two models: code cards, one noise, one with two cards."""
    folder = tmp_path_factory.mktemp("filled")
    with Store.open(f"sqlite:///{folder}/r.sqlite") as store:
        for model in ("one", "two"):
            for number in range(PICTURES):
                codes = {"gender": number % 2, "race": number % 7}
                image = paint(codes, seed=number)
                if number == 0:
                    image = blank(number)
                if number == 1:
                    image = paint(codes, {"gender": 0, "race": 3}, seed=number)
                _put(store, model, number, Response("", image=image))
            _put(store, model, PICTURES, Response("I cannot draw"))
    return folder


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> str:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return "r.sqlite"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A file server on loopback with ``hello.onnx``, five bytes long."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "hello.onnx").write_bytes(b"hello")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def _put(store: Store, model: str, number: int, response: Response) -> None:
    keeping.put(store, f"{model}{number}", response, model=model, prompt="p", repeat=number).result(30)


def _rows(folder: str = "lab") -> list[list[str]]:
    with Path(folder, "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _fill(label: Callable[[list[str], str, int], str]) -> None:
    """Fill in the sheet: ``label`` returns a cell from the row, the attribute and the annotator."""
    head, *rows = _rows()
    for row in rows:
        for column, heading in enumerate(head[3:], 3):
            attribute, number = heading.partition(":")[0].split()
            row[column] = label(row, attribute, int(number))
    with Path("lab/labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def _key() -> dict[str, Any]:
    key: dict[str, Any] = json.loads(Path("lab/key.json").read_text(encoding="utf-8"))
    return key


@cache
def _attributes() -> list[Attribute]:
    checklist = benchmarks.load("fact_or_fair_t2i", truth="audited", base=Path())
    return [attribute for attribute in checklist.attributes if not attribute.crossed]


def _as_painted(row: list[str], attribute: str, annotator: int) -> str:
    """The label that is on the code card, according to an errorless detector; noise shows no face."""
    del annotator
    groups = _seen(Path("lab", row[0]).read_bytes())
    return groups[int(row[1]) - 1][attribute] if groups else "no face"


@cache
def _seen(picture: bytes) -> list[Mapping[str, str]]:
    (perceived,) = detection.build("sim", custom={}).read([picture], _attributes())
    return [face.groups for face in perceived.faces]


def _table(file: str, spec: str) -> dict[str, Confusion]:
    identity = detection.build(spec, custom={}).identity
    return {table.attribute: table for table in tables(file, _attributes(), detector=identity)}


def test_a_detector_of_the_conftest_is_evaluated(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conftest.py").write_text(OWN_DETECTOR)
    assert main(["detector", "sample", store, "--per-model", "5", "--annotators", "1", "--out", "lab"]) == 0
    _fill(lambda *_: "unclear")
    assert main(["detector", "evaluate", "lab/labels.csv", "--detector", "house:v2"]) == 0
    assert "lab/errors-house-v2.json" in capsys.readouterr().out
    written = json.loads(Path("lab/errors-house-v2.json").read_text(encoding="utf-8"))
    assert written["detector"] == {"detector": "house", "version": "v2"}


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        (
            "return config.rootpath",
            "line 2, raised AttributeError: 'NoneType' object has no attribute 'rootpath'",
        ),
        ("return ['house']", "expected a mapping from names to functions, got ['house']"),
    ],
)
def test_a_wrong_hook_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hook: str, problem: str
) -> None:
    (tmp_path / "conftest.py").write_text(f"def pytest_factorfair_detectors(config):\n    {hook}\n")
    assert main(["detector", "sample", "none.sqlite", "--detector", "house:v2", "--out", "lab"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("conftest.py: pytest_factorfair_detectors(config=None): ")
    assert line.endswith(problem)


def test_a_sample_is_neutral_and_complete(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detector", "sample", store, "--per-model", "25", "--out", "lab"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "one: 25 of 40 pictures", "two: 25 of 40 pictures", "lab: give README.md, labels.csv and pictures to the annotators",
    ]  # fmt: skip
    head, *rows = _rows()
    assert [row[0] for row in rows] == [f"pictures/{number:02}.png" for number in range(1, 51)]
    assert len(head) == 3 + 2 * 3
    pictures = _key()["pictures"]
    assert Counter(picture["model"] for picture in pictures.values()) == {"one": 25, "two": 25}
    assert len({picture["key"] for picture in pictures.values()}) == 50
    assert [picture["model"] for picture in pictures.values()] != sorted(
        picture["model"] for picture in pictures.values()
    )
    text = Path("lab/README.md").read_text(encoding="utf-8")
    assert "voluntary" in text
    assert "`Female`, `Male`, `unclear`, `no face`" in text


def test_a_report_limits_the_sample_to_its_pictures(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A report selects pictures and names their model: two of its three keys are in the store, one key twice."""
    answers = [{"key": key} for key in ("one3", "one3", "two4", "gone")]
    Path("report.json").write_text(
        json.dumps({"schema": "factorfair.report/5", "cases": [{"model": "mine", "answers": answers}]}),
        encoding="utf-8",
    )
    assert main(["detector", "sample", "report.json", store, "--out", "lab"]) == 0
    assert capsys.readouterr().out.startswith("mine: 2 of 2 pictures\n")
    sampled = {(picture["model"], picture["key"]) for picture in _key()["pictures"].values()}
    assert sampled == {("mine", "one3"), ("mine", "two4")}


def test_copies_have_pixels_and_nothing_else() -> None:
    from PIL.PngImagePlugin import PngInfo

    metadata = PngInfo()
    metadata.add_text("prompt", "model one, highest crime rate")
    Image.new("RGB", (40, 30), "red").save("drawn.png", pnginfo=metadata)
    with Store.open("sqlite:///r.sqlite") as store:
        _put(store, "one", 1, Response("", image=Path("drawn.png").read_bytes()))
    assert main(["detector", "sample", "r.sqlite", "--out", "lab"]) == 0
    with Image.open("lab/pictures/1.png") as copy:
        assert (copy.size, copy.info) == ((40, 30), {})
        assert copy.getpixel((5, 5)) == (255, 0, 0)


def test_the_seed_says_what_is_drawn(store: str) -> None:
    keys = []
    for out, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        assert main(["detector", "sample", store, "--per-model", "9", "--seed", seed, "--out", out]) == 0
        keys.append(Path(out, "key.json").read_text(encoding="utf-8"))
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_a_lost_picture_gives_way_to_another(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in sorted(Path("images").glob("*/*.png"))[:3]:
        path.unlink()
    assert main(["detector", "sample", store, "--per-model", "100", "--model", "one", "--out", "lab"]) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.endswith(" of 40 pictures")
    assert line.split()[1] == str(len(_key()["pictures"]))
    assert len(_key()["pictures"]) < PICTURES


def test_from_a_sample_to_a_table_of_errors(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With 80 pictures (82 faces) labelled as painted, a detector with an error rate of .2 gets that rate.

    Its rates are within four standard errors of .2; the errorless detector has no errors.
    """
    assert main(["detector", "sample", store, "--per-model", "40", "--detector", "sim", "--out", "lab"]) == 0
    assert len(_rows()) == 1 + 82
    _fill(_as_painted)
    capsys.readouterr()
    specs = ["--detector", "sim", "--detector", "sim?flip=0.2"]
    assert main(["detector", "evaluate", "lab/labels.csv", *specs]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[:3] == [
        "82 faces in 80 pictures, 3 annotators",
        "gender: a majority for a group on 80, 2 no face; Fleiss' kappa 1.00 on 82 faces",
        "race: a majority for a group on 80, 2 no face; Fleiss' kappa 1.00 on 82 faces",
    ]
    assert "sim: gender: accuracy 1.000 (0.954 to 1.000) on 80 faces" in output
    right = _table("lab/errors-sim.json", "sim")
    wrong = _table("lab/errors-sim-flip-0.2.json", "sim?flip=0.2")
    for name, table in wrong.items():
        assert table.missing
        assert right[name].counts.sum() == table.counts.sum() == 82
        assert right[name].counts.trace() == 82
        errors = 80 - table.counts[:-1, :-1].trace()
        assert abs(errors / 80 - 0.2) <= 4 * (0.2 * 0.8 / 80) ** 0.5


def test_what_people_do_not_agree_on_is_reported(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Disagreement is reported: of ten rows three are tied, two unclear, one empty, four have a majority."""
    assert main(["detector", "sample", store, "--per-model", "5", "--out", "lab"]) == 0
    order = {row[0]: number for number, row in enumerate(_rows()[1:])}

    def label(row: list[str], attribute: str, annotator: int) -> str:
        number = order[row[0]]
        if number < 3:
            return ("Male", "Female", "unclear")[annotator - 1] if attribute == "gender" else "White"
        if number < 5:
            return "unclear" if annotator < 3 else "no face"
        return "" if number == 5 else {"gender": "Male", "race": "White"}[attribute]

    _fill(label)
    capsys.readouterr()
    assert main(["detector", "evaluate", "lab/labels.csv", "--detector", "sim", "--out", "tables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(
        "gender: a majority for a group on 4, 2 unclear, 3 tied, 1 not labelled; Fleiss' kappa "
    )
    assert lines[1].endswith(" on 9 faces")
    assert "cannot correct shares: no labelled face is Female" in lines
    assert _table("tables/errors-sim.json", "sim")["gender"].counts.sum() == 4


WRONG: dict[str, tuple[list[str], str]] = {
    "no store": (["sample", "none.sqlite", "--out", "x"], "none.sqlite: no such response store"),
    "no report": (["sample", "none.json", "--out", "x"], "none.json: No such file or directory"),
    "a deep report": (["sample", "deep.json", "--out", "x"], "deep.json: not a report.json: it is nested too deeply"),
    "not a report": (["sample", "list.json", "r.sqlite", "--out", "x"], "list.json: not a report.json: its schema is None"),
    "a report of text": (["sample", "text.json", "r.sqlite", "--out", "x"], "there are no pictures to draw from"),
    "a report without its store": (["sample", "text.json", "--out", "x"], ".factorfair/responses.sqlite: no such response store"),
    "no pictures": (["sample", "empty.sqlite", "--out", "x"], "there are no pictures to draw from"),
    "full folder": (["sample", "r.sqlite", "--out", "."], ".: is not empty; name a new folder, this one may contain labels"),
    "a file": (["sample", "r.sqlite", "--out", "r.sqlite"], "r.sqlite: cannot write there: File exists"),
    "size": (["sample", "r.sqlite", "--out", "x", "--per-model", "0"], "--per-model: expected a number from 1 to 100,000, got 0"),
    "annotators": (["sample", "r.sqlite", "--out", "x", "--annotators", "99"], "--annotators: expected a number from 1 to 20, got 99"),
    "model": (["sample", "r.sqlite", "--out", "x", "--model", "onee"], "--model: there are no pictures of 'onee'; did you mean 'one'?"),
    "text checklist": (["sample", "r.sqlite", "--out", "x", "--checklist", "fact_or_fair"], "checklist 'fact_or_fair' asks language models: it has no pictures to label"),
    "checklist": (["sample", "r.sqlite", "--out", "x", "--checklist", "no.yaml"], "there is no file no.yaml"),
    "detector": (["sample", "r.sqlite", "--out", "x", "--detector", "smi"], "detector 'smi': unknown detector 'smi'; did you mean 'sim'?"),
    "sheet": (["evaluate", "none.csv", "--detector", "sim"], "none.csv: cannot be read: No such file or directory"),
    "no picture": (["evaluate", "gone.csv", "--detector", "sim"], "gone.csv: picture 'p.png' cannot be read: "),
    "broken picture": (["evaluate", "html.csv", "--detector", "sim"], "html.png: not a picture but HTML"),
    "twins": (["evaluate", "html.csv", "--detector", "sim", "--detector", "sim?"], "--detector sim?: the tables of two detectors would both be errors-sim.json"),
    "checkpoint": (["export", "none.pt", "x.onnx"], "there is no file 'none.pt'"),
    "name": (["fetch", "fairfce"], "unknown model 'fairfce'; did you mean 'fairface'?"),
    "no checksum": (["fetch", "http://127.0.0.1/x.onnx"], "--sha256 goes with a URL"),
    "checksum": (["fetch", "yunet", "--sha256", "0"], "--sha256 goes with a URL"),
    "scheme": (["fetch", "file:///etc/passwd", "--sha256", "0"], "'file:///etc/passwd' is not a valid URL of a file"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mistakes(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is wrong; nothing is written there."""
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(filled, folder, dirs_exist_ok=True)
    with Store.open(f"sqlite:///{folder}/empty.sqlite"):
        pass
    head = "picture,face,box,gender 1\n"
    for name, content in {
        "gone.csv": f"{head}p.png,1,,Male\n",
        "html.csv": f"{head}html.png,1,,Male\n",
        "html.png": "<html>",
        "list.json": "[]",
        "deep.json": "[" * 100_000,
        "text.json": '{"schema": "factorfair.report/5", "cases": [{"model": "m", "answers": [{"query": "q"}]}]}',
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line(
    mistakes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(mistakes)
    arguments, words = WRONG[case]
    assert main(["detector", *arguments]) == 4
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("x").exists()


def test_fetch_from_a_server_checks_what_comes(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert main(["detector", "fetch", f"{server}/hello.onnx", "--sha256", digest, "--out", "models"]) == 0
    assert capsys.readouterr().out == "models/hello.onnx\n"
    assert Path("models/hello.onnx").read_bytes() == b"hello"
    assert main(["detector", "fetch", f"{server}/hello.onnx", "--sha256", "0" * 64, "--out", "other"]) == 4
    assert list(Path("other").iterdir()) == []
