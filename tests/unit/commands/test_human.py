"""``factorfair human sample|score``, from painted pictures and a report to scores from people's labels."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_factorfair import benchmarks, detection
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase, prompt_cases
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import (
    Answer,
    CaseKey,
    Exchange,
    Fingerprint,
    Query,
    Record,
    Response,
    Sampling,
    Summary,
    Usage,
)
from pytest_factorfair.pictures.cards import blank, paint
from pytest_factorfair.pictures.classes import painted
from pytest_factorfair.reading import pictured
from pytest_factorfair.reports.json_report import to_json
from pytest_factorfair.store import Store
from tests import keeping

MODELS, EACH = ("one", "two"), 4
SUBJECTS = {"doctor_patient", "poor", "rich"}
BLANK = 3  # this picture of every seventh case shows nobody

Labeller = Callable[[list[str], str, str], str]


@cache
def faintbench() -> Faintbench:
    checklist = benchmarks.load("faintbench", truth="audited", base=Path())
    assert isinstance(checklist, Faintbench)
    return checklist


@cache
def chosen() -> tuple[PromptCase, ...]:
    """Implicit and explicit prompts of two characteristics and a relation, without its crossed races."""
    every = prompt_cases(benchmarks.cases(faintbench(), Sampling("balanced", 1, 1, seed=0, prompts="all")))
    cases = [case for case in every if case.subject in SUBJECTS]
    return tuple(case for case in cases if case.attributes != ("race",) or case.kind != "relation")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store and a report of two models, with code cards and some pictures of noise."""
    folder = tmp_path_factory.mktemp("filled")
    with Store.open(f"sqlite:///{folder}/r.sqlite") as store:
        records = tuple(record for model in MODELS for record in drawn(store, model))
    (folder / "report.json").write_text(to_json(summary(records)), encoding="utf-8")
    return folder


def drawn(store: Store, model: str) -> Iterator[Record]:
    chance = Random(model)  # noqa: S311  # pictures that are the same every time
    detector = detection.build("sim", custom={})
    for number, case in enumerate(chosen()):
        sides = len(faintbench().subject(case.subject).sides)
        answers: list[Answer] = []
        for repeat in range(EACH):
            people = [
                {attribute.name: chance.choice(attribute.groups) for attribute in faintbench().attributes}
                for _ in range(sides)
            ]
            image = paint(*map(codes, people), seed=chance.randrange(10**6))
            if repeat == BLANK and not number % 7:
                image = blank(number)
            key = f"{model} {case.id} {repeat}"
            pending = keeping.put(
                store, key, Response("", image=image), model=model, prompt="p", repeat=repeat
            )
            attributes = [faintbench().attribute(name) for name in case.attributes]
            (seen,) = detector.read([image], attributes)
            query = Query(f"{case.id} {repeat}", "p", (), repeat, 0, {})
            answers += pictured(Exchange(query, key, Response("", image_file="x")), seen, attributes)
        pending.result(30)
        yield Record(CaseKey(model, "faintbench", case.id), tuple(answers))


def codes(groups: Mapping[str, str]) -> dict[str, int]:
    return dict(painted(attribute, group) for attribute, group in groups.items())


def summary(records: tuple[Record, ...], truth: str = "audited") -> Summary:
    fingerprint = Fingerprint(
        {model: {} for model in MODELS}, {"faintbench": faintbench().digest}, "ci", "balanced", truth,
        72, 24, 0, "text", "corrected", "instrument", {"kind": "sim"}, {}, {},
    )  # fmt: skip
    return Summary(fingerprint, None, (), (), records, Usage(), 0.0, ())


@pytest.fixture(scope="session")
def drawn_once(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete sample, for tests that fill in its sheet."""
    folder = tmp_path_factory.mktemp("drawn")
    with chdir(filled):
        assert sample("--out", str(folder / "lab")) == 0
    return folder / "lab"


@pytest.fixture
def lab(drawn_once: Path, _in_tmp_path: None) -> Iterator[None]:
    """A copy of the complete sample for the test; pictures are shared, because no test changes them."""
    shared = drawn_once / "pictures"
    shutil.copytree(drawn_once, "lab", ignore=shutil.ignore_patterns("pictures"))
    Path("lab/pictures").symlink_to(shared)
    before = {path: path.stat().st_mtime_ns for path in (shared, *shared.iterdir())}
    yield
    assert {path: path.stat().st_mtime_ns for path in (shared, *shared.iterdir())} == before


@pytest.fixture(autouse=True)
def _in_tmp_path(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.sqlite", "report.json"):
        shutil.copy(filled / name, tmp_path)
    Path("images").symlink_to(filled / "images")


def sample(*extra: str) -> int:
    options = ["--share", "1", "--pictures", "4", "--evaluators", "3", "--out", "lab", *extra]
    return main(["human", "sample", "report.json", "r.sqlite", *options])


def rows() -> list[list[str]]:
    with Path("lab/labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def pictures() -> dict[str, Any]:
    by_name: dict[str, Any] = json.loads(Path("lab/key.json").read_text(encoding="utf-8"))["pictures"]
    return by_name


def fill(label: Labeller) -> None:
    """Fill in the sheet: ``label`` returns a cell from the row, the attribute and the evaluator."""
    head, *faces = rows()
    for row in faces:
        for column, heading in enumerate(head[3:], 3):
            row[column] = label(row, *heading.partition(":")[0].split())
    with Path("lab/labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *faces])


def as_painted(row: list[str], attribute: str, evaluator: str) -> str:
    """The labels that are on the code cards, read from the sample's pictures."""
    del evaluator
    faces = seen(Path("lab/pictures").readlink().parent / row[0])
    return faces[int(row[1]) - 1][attribute] if faces else "no face"


@cache
def seen(picture: Path) -> list[Mapping[str, str]]:
    (perceived,) = detection.build("sim", custom={}).read([picture.read_bytes()], faintbench().attributes)
    return [face.groups for face in perceived.faces]


def values(lines: list[str], model: str, *heading: str) -> list[str]:
    """A score of a model: from people's labels, automatic, and the difference."""
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{model}: scores"))
    rows = [line.split() for line in lines[start:] if line.split()[: len(heading)] == list(heading)]
    return [cell for cell in rows[0][len(heading) :] if not cell.startswith("(")]


def test_a_sample_is_neutral_and_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert sample() == 0
    number = len(chosen())
    assert capsys.readouterr().out.splitlines() == [
        f"one: {4 * number} pictures of {number} prompts, drawn from {number}",
        f"two: {4 * number} pictures of {number} prompts, drawn from {number}",
        "lab: give README.md, labels.csv and pictures to the evaluators",
    ]
    head, *faces = rows()
    assert [cell.partition(":")[0] for cell in head] == [
        "picture", "face", "box", *(f"{name} e{evaluator}" for name in ("gender", "race", "age") for evaluator in (1, 2, 3)),
    ]  # fmt: skip
    by_picture = Counter(row[0] for row in faces)
    assert list(by_picture) == [f"pictures/{index:03}.png" for index in range(1, 8 * number + 1)]
    sides = {case.id: 2 if case.kind == "relation" else 1 for case in chosen()}
    for name, picture in pictures().items():
        assert by_picture[name] == sides[picture["case"]] == picture["people"]
        assert picture["key"] == f"{picture['model']} {picture['case']} {picture['repeat']}"
    models = [picture["model"] for picture in pictures().values()]
    assert models != sorted(models)
    text = Path("lab/README.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("voluntary", "Consent", "Content notice", "e1, e2, e3"))
    assert "`european`, `east_asian`, `african`, `latino`, `south_asian`, `unclear`, `no face`" in text


def test_a_share_of_prompts_the_same_for_every_model() -> None:
    assert sample("--share", "0.5", "--pictures", "2") == 0
    earlier = pictures()
    counts = Counter((picture["model"], picture["case"]) for picture in earlier.values())
    assert set(counts.values()) == {2}
    of_one, of_two = ({case for model, case in counts if model == name} for name in MODELS)
    assert of_one == of_two
    assert len(of_one) == round(0.5 * len(chosen()))
    assert {case.split("-")[0] for case in of_one} == {"implicit", "explicit"}
    shutil.rmtree("lab")
    assert sample("--share", "0.5", "--pictures", "2") == 0
    assert pictures() == earlier
    shutil.rmtree("lab")
    assert sample("--share", "0.5", "--pictures", "2", "--seed", "1") == 0
    assert pictures() != earlier


def test_a_picture_that_is_gone_gives_way_and_is_reported(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open("sqlite:///r.sqlite", read_only=True) as store:
        lost = [
            line["file"]
            for line in keeping.manifest(Path(store.pictures.location))
            if str(line["key"]).startswith("one ")
        ]
    Path("images").unlink()
    shutil.copytree(filled / "images", "images")
    Path("images", str(lost[0])).unlink()
    assert sample() == 0
    number = len(chosen())
    assert capsys.readouterr().out.splitlines()[0] == (
        f"one: {4 * number - 1} pictures of {number} prompts, 1 of them with fewer than 4, drawn from {number}"
    )
    assert len(pictures()) == 8 * number - 1


@pytest.mark.usefixtures("lab")
def test_people_who_see_what_the_detector_saw(capsys: pytest.CaptureFixture[str]) -> None:
    fill(as_painted)
    assert main(["human", "score", "lab/labels.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    number = sum(1 + (case.kind == "relation") for case in chosen())
    assert lines[0] == f"{8 * number:,} faces in {8 * len(chosen()):,} pictures, 3 annotators"
    assert all("Fleiss' kappa 1.00" in line for line in lines[1:4])
    differences = [line for line in lines if "mean absolute difference" in line]
    assert len(differences) == 2 * 7  # implicit, rescaled, divergence, explicit, joint, eta and its magnitude
    assert all("mean absolute difference 0.000 over" in line for line in differences)
    assert not any("only one of the two values" in line for line in lines)


@pytest.mark.usefixtures("lab")
def test_labels_of_men_only_have_the_scores_of_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    """The score if people only see men, by hand: half of all people are women, so (1 + 1/sqrt 2) / 2 = .8536."""
    fill(lambda row, name, evaluator: "man" if name == "gender" else as_painted(row, name, evaluator))
    assert main(["human", "score", "lab/labels.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for model in MODELS:
        people, automatic, difference = values(
            lines, model, "implicit", "gender", "implicit", "characteristic"
        )
        assert people == "0.854"
        assert float(difference) == pytest.approx(float(people) - float(automatic), abs=0.0011)
        # A man was asked for in half of the prompts, and each has four pictures of one man.
        assert values(lines, model, "explicit", "gender", "explicit", "characteristic")[0] == "0.500"
        assert values(lines, model, "implicit", "age", "implicit", "characteristic")[2] == "+0.000"


@pytest.mark.usefixtures("lab")
def test_evaluators_who_disagree_are_unparsed_not_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    """A picture on which people disagree counts as unparsed: it does not show the requested person."""
    either = {"gender": ("man", "woman"), "race": ("african", "latino"), "age": ("young", "elderly")}
    fill(lambda _, name, evaluator: "unclear" if evaluator == "e3" else either[name][evaluator == "e1"])
    assert main(["human", "score", "lab/labels.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    number = 8 * sum(1 + (case.kind == "relation") for case in chosen())
    assert f"gender: a majority for a group on 0, {number:,} tied; " in lines[1]
    assert values(lines, "one", "explicit", "all", "explicit")[0] == "0.000"
    assert values(lines, "one", "implicit", "all", "implicit")[0] == "-"


@pytest.mark.usefixtures("lab")
def test_pictures_that_nobody_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = [name for name, picture in pictures().items() if picture["repeat"] < 2]
    fill(lambda row, *cell: as_painted(row, *cell) if row[0] in labelled else "")
    assert main(["human", "score", "lab/labels.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"left out of both because nobody labelled them: {4 * len(chosen()):,} pictures" in lines
    assert all("difference 0.000 over" in line for line in lines if "mean absolute difference" in line)


WRONG: dict[str, tuple[list[str], str]] = {
    "no report": (["sample", "r.sqlite", "--out", "x"], "name the report.json of a run: it says which picture belongs to which prompt"),
    "missing": (["sample", "none.json", "--out", "x"], "none.json: No such file or directory"),
    "not a report": (["sample", "list.json", "--out", "x"], "list.json: not a report.json: its schema is None"),
    "damaged": (["sample", "damaged.json", "--out", "x"], "damaged.json: a damaged report: there is no 'fingerprint'"),
    "twice": (["sample", "report.json", "copy.json", "r.sqlite", "--out", "x"], "copy.json: case implicit-characteristic-"),
    "other truth": (["sample", "report.json", "published.json", "--out", "x"], "published.json: its truth set is published, that of report.json is audited"),
    "other content": (["sample", "changed.json", "--out", "x"], "changed.json: the content of checklist faintbench has changed: 000000000000 there, "),
    "other run": (["sample", "portraits.json", "--out", "x"], "portraits.json: checklist fact_or_fair_t2i has no prompts for a number of people; name the run's with --checklist"),
    "other protocol": (["sample", "report.json", "--checklist", "fact_or_fair_t2i", "--out", "x"], "report.json: checklist fact_or_fair_t2i has no prompts for a number of people; name the run's with --checklist"),
    "no store": (["sample", "report.json", "none.sqlite", "--out", "x"], "none.sqlite: no such response store"),
    "no pictures": (["sample", "report.json", "empty.sqlite", "--out", "x"], "there are no pictures to draw from"),
    "full folder": (["sample", "report.json", "r.sqlite", "--out", "."], ".: is not empty; name a new folder, this one may contain labels"),
    "share": (["sample", "report.json", "--share", "0", "--out", "x"], "--share: expected a number above 0 and at most 1, got 0"),
    "no share": (["sample", "report.json", "--share", "nan", "--out", "x"], "--share: expected a number above 0 and at most 1, got nan"),
    "pictures": (["sample", "report.json", "--pictures", "0", "--out", "x"], "--pictures: expected a number from 1 to 10,000, got 0"),
    "evaluators": (["sample", "report.json", "--evaluators", "51", "--out", "x"], "--evaluators: expected a number from 1 to 50, got 51"),
    "no key": (["score", "alone/labels.csv"], "alone/key.json: cannot be read: No such file or directory; it belongs next to the sheet"),
    "no sheet": (["score", "keyed/none.csv"], "keyed/none.csv: cannot be read: No such file or directory"),
    "no label": (["score", "keyed/labels.csv"], "keyed/labels.csv: the sheet is empty"),
    "one attribute": (["score", "keyed/gender.csv"], "keyed/gender.csv: there is no column of labels for race"),
    "strange key": (["score", "strange/labels.csv"], "strange/key.json: not the key of a human check: its schema is 'factorfair.sample/1'"),
    "broken key": (["score", "broken/labels.csv"], "broken/key.json: not the key of a sample: "),
    "damaged key": (["score", "damaged/labels.csv"], "damaged/key.json: the key is damaged: KeyError: 'pictures'"),
    "key of another checklist": (["score", "other/labels.csv"], "other/key.json: the content of checklist faintbench has changed: 000000000000 there, "),
    "key of no prompt": (["score", "prompt/labels.csv"], "prompt/key.json: there is no prompt 'implicit-nobody' in checklist faintbench"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mistakes(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is wrong; nothing is written there."""
    folder = tmp_path_factory.mktemp("mistakes")
    with chdir(folder):
        for name in ("r.sqlite", "report.json"):
            shutil.copy(filled / name, name)
        with Store.open("sqlite:///empty.sqlite"):
            pass
        report = json.loads(Path("report.json").read_text(encoding="utf-8"))
        shutil.copy("report.json", "copy.json")
        fingerprint = report["fingerprint"]
        changed = {
            "published": {"truth": "published"},
            "changed": {"checklists": {"faintbench": "0" * 64}},
            "portraits": {"checklists": {"fact_or_fair_t2i": "0" * 64}},
        }
        for name, fields in changed.items():
            text = json.dumps(report | {"fingerprint": fingerprint | fields})
            Path(f"{name}.json").write_text(text, encoding="utf-8")
        Path("list.json").write_text("[]", encoding="utf-8")
        Path("damaged.json").write_text(json.dumps({"schema": report["schema"]}), encoding="utf-8")
        row = {"model": "m", "checklist": "faintbench", "case": "implicit-characteristic-poor", "people": 1,
               "query": "q", "key": "k", "repeat": 0, "answers": [], "sha256": ""}  # fmt: skip
        key = {
            "schema": "factorfair.human/1",
            "checklist": faintbench().digest,
            "truth": "audited",
            "seed": 0,
        }
        keys: dict[str, object] = {
            "keyed": key | {"pictures": {"p": row}},
            "strange": key | {"schema": "factorfair.sample/1"},
            "damaged": key,
            "other": key | {"checklist": "0" * 64, "pictures": {"p": row}},
            "prompt": key | {"pictures": {"p": row | {"case": "implicit-nobody"}}},
        }
        for name in ("alone", "broken", *keys):
            Path(name).mkdir()
            Path(name, "labels.csv").write_text("", encoding="utf-8")
        for name, content in keys.items():
            Path(name, "key.json").write_text(json.dumps(content), encoding="utf-8")
        Path("broken/key.json").write_text("{", encoding="utf-8")
        Path("keyed/gender.csv").write_text("picture,face,box,gender e1\np,1,,man\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line(
    mistakes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    monkeypatch.chdir(mistakes)
    arguments, words = WRONG[case]
    assert main(["human", *arguments]) == 4
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("x").exists()
