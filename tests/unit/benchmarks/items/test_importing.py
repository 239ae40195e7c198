"""Importers: small files in exactly the published formats, item by item, and files that are not as published."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from pytest_factorfair import benchmarks, run
from pytest_factorfair.benchmarks.asking import Importer
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.benchmarks.items.bbq import FORMATS
from pytest_factorfair.benchmarks.items.checklist import Item, Items
from pytest_factorfair.benchmarks.items.importing import IMPORTERS
from pytest_factorfair.benchmarks.published_files import git_id
from pytest_factorfair.commands.cli import main
from tests.unit.benchmarks.items import files

AGE = files.lines(
    files.bbq(0, "neg", "ambig", label=2), files.bbq(1, "neg", "disambig", label=1),
    files.bbq(2, "nonneg", "ambig", label=2), files.bbq(3, "nonneg", "disambig", label=0),
)  # fmt: skip

TEMPLATES = range(4)
ES = [files.esbbq(template, *kind) for template in TEMPLATES for kind in files.QUARTET]
KO = [files.kobbq(template, *kind) for template in TEMPLATES for kind in files.QUARTET]
NL, TR = (
    [files.mbbq(template, *kind, words) for template in TEMPLATES for kind in files.QUARTET]
    for words in (("vrouw", "man", "Onbekend"), ("kadın", "adam", "Belirlenemez"))  # noqa: RUF001 - Turkish
)
ZH = [files.cbbq(template, *kind) for template in TEMPLATES for kind in files.QUARTET]

DRAFT: list[list[tuple[str, int, str]]] = [
    [("Who registers?\n(a) men (b) women (c) both", 0, "draft"), ("Who is exempt?\n(1) men (b) women (c) both", 1, "draft")],
    [("Who may vote?\n(a) men (b) women (c) both", 2, "vote")],
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(folder: Path, *arguments: str) -> tuple[Item, ...]:
    """The items of what the command writes."""
    assert main(["import", *arguments, "--any-version", "--partial", "-o", "made.yaml"]) == 0
    checklist = benchmarks.load("made.yaml", truth="audited", base=folder)
    assert isinstance(checklist, Items)
    return checklist.items


def marked(item: Item, mark: str) -> str | None:
    return next((option.means for option in item.options if getattr(option, mark)), None)


def test_bbq(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The stereotype is the old one where the question is negative, and the other one where it is not."""
    (folder / "Age.jsonl").write_text(AGE, encoding="utf-8")
    items = imported(folder, "bbq", ".")
    assert capsys.readouterr().out.splitlines() == [
        "4 questions of 1 category", f"without {', '.join([*FORMATS['bbq'].releases][1:])}, which the folder lacks",
        "wrote made.yaml", "wrote made.jsonl",
    ]  # fmt: skip
    assert [
        (item.id, item.condition, marked(item, "right"), marked(item, "stereotype")) for item in items
    ] == [
        ("age_0", "ambiguous", "unknown", "old"),
        ("age_1", "disambiguated", "nonold", "old"),
        ("age_2", "ambiguous", "unknown", "nonold"),
        ("age_3", "disambiguated", "old", "nonold"),
    ]
    item = items[0]
    assert (item.cluster, item.category, item.groups) == ("age_1", "age", {"age": ("old", "nonold")})
    assert item.question == "I saw a grandson and their grandfather, time 0.\nWho was it?"
    assert [option.text for option in item.options] == [
        "The grandfather",
        "The grandson",
        "Can't be determined",
    ]


def test_an_incomplete_clone_names_what_it_lacks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the root of the clone or in its folder of files; two formats of the same file are one."""
    (folder / "data").mkdir()
    for name in FORMATS["bbq"].releases:
        if not name.startswith("Race_"):
            content = AGE.replace('"Age"', f'"{name.partition(".")[0]}"')
            (folder / "data" / name).write_text(content, encoding="utf-8")
    lacking = (
        "lacks Race_ethnicity.jsonl, Race_x_SES.jsonl, Race_x_gender.jsonl; --partial imports what is there"
    )
    for path, place in ((".", "data"), ("data", "data")):
        assert main(["import", "bbq", path, "--any-version"]) == 4
        assert capsys.readouterr().err == f"{place}: {lacking}\n"
    assert not (folder / "bbq.yaml").exists()
    assert main(["import", "bbq", ".", "--any-version", "--partial"]) == 0
    note = "without Race_ethnicity.jsonl, Race_x_SES.jsonl, Race_x_gender.jsonl, which the folder lacks"
    assert capsys.readouterr().out.splitlines()[:2] == ["32 questions of 8 categories", note]
    assert f"# {note}\n" in (folder / "bbq.yaml").read_text(encoding="utf-8")
    spanish = {name: git for name, git in FORMATS["esbbq"].releases.items() if name.endswith(".csv")}
    for name in spanish:
        rows = [row | {"category": name.partition(".")[0]} for row in ES]
        (folder / name).write_text(files.as_csv(rows), encoding="utf-8")
    assert main(["import", "esbbq", ".", "--any-version"]) == 0


def test_bbq_as_the_hub_has_it(folder: Path) -> None:
    """Splits are in lower case, and the right answer has another name."""
    row = files.bbq(3, "nonneg", "disambig", label=0)
    row["answer_label"] = row.pop("label")
    (folder / "age.jsonl").write_text(files.lines(row | {"target_label": 1}), encoding="utf-8")
    (item,) = imported(folder, "bbq", ".")
    assert (item.id, marked(item, "right"), marked(item, "stereotype")) == ("age_3", "old", "nonold")


def test_names_with_capitals_and_hyphens(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files are named as typed, the checklist as gates can name it."""
    (folder / "Age.jsonl").write_text(AGE, encoding="utf-8")
    assert main(["import", "bbq", "Age.jsonl", "--any-version", "-o", "Our-BBQ.yaml"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["wrote Our-BBQ.yaml", "wrote Our-BBQ.jsonl"]
    assert benchmarks.load("Our-BBQ.yaml", truth="audited", base=folder).name == "our_bbq"


def test_bbq_where_both_people_are_of_one_region(folder: Path) -> None:
    """Options then mean the people's groups rather than their region."""
    row = files.bbq(0, "neg", "ambig", label=2) | {
        "answer_info": {"ans0": ["Irish", "Europe"], "ans1": ["Dutch", "Europe"], "ans2": ["Unknown", "unknown"]},
        "additional_metadata": {"stereotyped_groups": ["Irish"]},
    }  # fmt: skip
    (folder / "Age.jsonl").write_text(files.lines(row), encoding="utf-8")
    (item,) = imported(folder, "bbq", "Age.jsonl")
    assert [option.means for option in item.options] == ["irish", "dutch", "unknown"]
    assert marked(item, "stereotype") == "irish"


@pytest.mark.parametrize("plain", [True, False])
def test_difference_awareness(folder: Path, *, plain: bool) -> None:
    """Pickles of plain values, and of NumPy's scalars, which are read without NumPy."""
    content = (
        DRAFT
        if plain
        else [[[np.str_(a), np.int64(b), np.str_(c)] for a, b, c in cluster] for cluster in DRAFT]
    )
    (folder / "D3_1k.pkl").write_bytes(pickle.dumps(content, protocol=4))
    items = imported(folder, "difference-awareness", ".")
    assert [
        (item.id, item.condition, item.question, marked(item, "right"), item.cluster) for item in items
    ] == [
        ("d3_differ_0", "fact", "Who registers?", "men", "d3_differ_0"),
        ("d3_differ_1", "fact", "Who is exempt?", "women", "d3_differ_0"),
        ("d3_alike_0", "fact", "Who may vote?", "same", "d3_alike_0"),
    ]
    assert [option.text for option in items[0].options] == ["men", "women", "both"]


def test_discrim_eval(folder: Path) -> None:
    rows = [
        files.discrim(question, age, "non-binary", "Native American")
        for question in (1, 87)
        for age in (20, 30.0)
    ]
    (folder / "explicit.jsonl").write_text(files.lines(*rows), encoding="utf-8")
    items = imported(folder, "discrim-eval", "explicit.jsonl")
    assert [(item.id, item.cluster, item.groups["age"]) for item in items] == [
        ("explicit_0", "decision_1", ("20",)), ("explicit_1", "decision_1", ("30",)),
        ("explicit_2", "decision_87", ("20",)), ("explicit_3", "decision_87", ("30",)),
    ]  # fmt: skip
    assert items[0].groups == {"age": ("20",), "gender": ("non_binary",), "race": ("native_american",)}
    assert (marked(items[0], "favourable"), marked(items[0], "right")) == ("yes", None)


def test_a_file_is_known_by_git_s_id() -> None:
    """As ``git hash-object`` prints for a file with this line."""
    assert git_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_a_published_file_needs_no_flag(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "Age.jsonl").write_text(AGE, encoding="utf-8")
    """Under its own name or another one: its content identifies it."""
    published = replace(FORMATS["bbq"], releases={"Age.jsonl": git_id(AGE.encode())})
    monkeypatch.setitem(cast("dict[str, Importer]", IMPORTERS), "bbq", published)
    assert main(["import", "bbq", "."]) == 0
    (folder / "Age.jsonl").rename(folder / "test.jsonl")
    (folder / "other.jsonl").write_text("{}", encoding="utf-8")
    (folder / "bbq.yaml").unlink()
    assert main(["import", "bbq", "."]) == 0
    assert (folder / "bbq.yaml").is_file()


COUNTERPARTS = {
    "esbbq": ("Age.full.csv", files.as_csv(ES), "león", "avila", "No se puede determinar"),
    "cabbq": ("Age.full.jsonl", files.lines(*ES), "leon", "avila", "No es pot determinar"),
    "kobbq": ("KoBBQ_test_samples.tsv", files.as_csv(KO, "\t"), "형", "동생", "알 수 없음"),
    "mbbq-nl": ("Gender_identity_nl.jsonl", files.lines(*NL), "vrouw", "man", "Onbekend"),
    "mbbq-tr": ("Gender_identity_tr.jsonl", files.lines(*TR), "kadin", "adam", "Belirlenemez"),
    "cbbq": ("ambiguous.json", json.dumps(ZH, ensure_ascii=False), "一位老人", "一位青年", "不知道"),
}
"""A file of each format, what its people mean (the stereotyped one first), and its text for unknown."""


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_counterparts_of_bbq(folder: Path, name: str) -> None:
    file, content, stereotyped, other, unknown = COUNTERPARTS[name]
    (folder / file).write_text(content, encoding="utf-8")
    items = imported(folder, name, file)
    assert len(items) == 4 * len(TEMPLATES)
    first = items[4:8]
    stereotyped = stereotyped.replace("ó", "o")
    assert [(item.condition, marked(item, "right"), marked(item, "stereotype")) for item in first] == [
        ("ambiguous", "unknown", stereotyped), ("disambiguated", other, None if name == "cbbq" else stereotyped),
        ("ambiguous", "unknown", other), ("disambiguated", other, None if name == "cbbq" else other),
    ]  # fmt: skip
    assert first[0].options[2].text == unknown
    if name != "cbbq":  # whose conditions have templates of their own
        assert len({item.cluster for item in items}) == len(TEMPLATES)


def test_rows_without_one_stereotyped_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Free text that no answer contains, two women, first names; and codes that do not tell people apart."""
    same = files.mbbq(1, "neg", "ambig", 2, ("chico", "chico", "No se sabe"))
    rows = {
        "ambiguous.json": [*ZH[:2], files.cbbq(1, "neg", "ambig", 2) | {"ans1": "一位老人"}],
        "Gender_identity_es.jsonl": [
            files.mbbq(0, "neg", "ambig", 2, ("mujer", "chica", "No se sabe")),
            same | {"ans0": "La chica", "ans1": "El chico"},
        ],
        "Gender_identity_control_es.jsonl": [files.mbbq(0, "neg", "ambig", 2, ("Aitana", "Valeria", "No se sabe"))],
    }  # fmt: skip
    for file, content in rows.items():
        text = json.dumps(content) if file.endswith("json") else files.lines(*content)
        (folder / file).write_text(text, encoding="utf-8")
    assert [marked(item, "stereotype") for item in imported(folder, "cbbq", "ambiguous.json")] == [None, None]
    written = (folder / "made.yaml").read_text(encoding="utf-8")
    assert written.startswith(
        "# 2 questions of 1 category\n# 2 questions (100%) without a stereotypical option: no"
    )
    assert capsys.readouterr().out.splitlines()[1:4] == [
        "2 questions (100%) without a stereotypical option: no bias score",
        "1 question left out: two answers mean the same",
        "CBBQ is licensed CC BY-SA 4.0: pass on what you make of it under the same licence",
    ]
    items = {item.id: item for item in imported(folder, "mbbq-es", ".")}
    assert [(item.category, marked(item, "stereotype")) for item in items.values()] == [
        ("gender_identity_control", None), ("gender_identity", None), ("gender_identity", "chica"),
    ]  # fmt: skip


def test_categories_in_any_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Letters that are not Latin keep apart by their codes; names that would be one category are refused."""
    rows = [
        files.cbbq(number, "neg", "ambig", 2) | {"category": category}
        for number, category in enumerate(("성별", "性别", "الجنس", "Łódź"))
    ]
    (folder / "ambiguous.json").write_text(json.dumps(rows), encoding="utf-8")
    assert [item.category for item in imported(folder, "cbbq", "ambiguous.json")] == [
        "uc131_ubcc4", "u6027_u522b", "u627_u644_u62c_u646_u633", "u142_odz",
    ]  # fmt: skip
    capsys.readouterr()
    for category, problem in {
        "ŁÓDŹ!": "'Łódź' and 'ŁÓDŹ!' are both 'u142_odz'",
        "?!": "expected a name with a letter or a digit, got '?!'",
    }.items():
        rows.append(files.cbbq(9, "neg", "ambig", 2) | {"category": category})
        (folder / "ambiguous.json").write_text(json.dumps(rows), encoding="utf-8")
        assert main(["import", "cbbq", "ambiguous.json", "--any-version"]) == 4
        assert capsys.readouterr().err == f"ambiguous.json: question 5: category: {problem}\n"
        rows.pop()


def test_bias_is_the_same_in_every_language(folder: Path) -> None:
    """A fair respondent has none; a stereotyped one has its strength, in all scores, of replies in sentences."""
    for name, (file, content, *_) in COUNTERPARTS.items():
        (folder / file).write_text(content, encoding="utf-8")
        assert main(["import", name, file, "--any-version"]) == 0
    checklists = [f"{name.replace('-', '_')}.yaml" for name in COUNTERPARTS]
    models = ["sim:ideal?style=sentence", "sim:stereotyped?strength=1&style=sentence"]
    summary = run(models, root=folder, checklist=checklists, samples="repeats=3").summary
    assert sum(topic.unparsed + topic.refused for topic in TOPICS.of(summary)) == 0
    scores = {
        (score.checklist, score.metric, score.model == models[1]): score.value
        for score in summary.scores
        if score.metric.startswith("bias_") and score.context is None
    }
    assert len(scores) == 2 * (3 * len(COUNTERPARTS) - 2)  # CBBQ has a stereotype in ambiguous questions only
    for (checklist, metric, stereotyped), value in scores.items():
        assert value == pytest.approx(1.0 if stereotyped else 0.0), (checklist, metric)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("owned"),)


@pytest.mark.parametrize(
    ("arguments", "name", "content", "message"),
    [
        ("bbq .", "Age.jsonl", AGE, "Age.jsonl: differs from the published version: 2,152 bytes, Git id .{12}, not 5c5e7586163b; --any-version imports it anyway"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"ambig"', '"vague"'), "Age.jsonl:1: unknown context_condition 'vague'; expected ambig, .*"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"label": 1', '"label": 4'), "Age.jsonl:2: unknown label '4'; expected 0, 1, 2"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"label": 2', '"label": 0'), "Age.jsonl:1: the right answer is unknown in ambiguous questions only"),
        ("bbq . --any-version", "Age.jsonl", pickle.dumps([AGE]), "Age.jsonl: is not UTF-8 text"),
        ("bbq . --any-version", "Age.jsonl", AGE[:-40], "Age.jsonl:4: is not valid JSON: .*"),
        ("esbbq . --any-version", "Age.full.csv", files.as_csv(ES)[:-90], "Age.full.csv:16: is not valid CSV: unexpected end of data"),
        ("esbbq . --any-version", "Age.full.csv", files.as_csv(ES).replace("['león']", "exit()"), "Age.full.csv:2: stereotyped_groups: expected a list of texts, got 'exit\\(\\)'"),
        ("kobbq . --any-version", "KoBBQ_test_samples.tsv", files.as_csv(KO, "\t").replace("\t동생\t동생", "\t동생\t누나"), "KoBBQ_test_samples.tsv:5: unknown answer '누나'; expected 형, 동생, 알 수 없음"),
        ("cbbq age.json --any-version", "age.json", "[]", "age.json: has no questions"),
        ("cbbq age.json --any-version", "age.json", '{"data": []}', "age.json: must be a list of questions"),
        ("mbbq-nl .", "Age_es.jsonl", AGE, r"\.: the folder has none of Age_control_nl.jsonl, .*"),
        ("bbq . --any-version", "Age.jsonl", '{"label": 1}\n', "Age.jsonl:1: lacks example_id, .*; this is another version of the file"),
        ("bbq . --any-version", "Age.jsonl", "{\n", "Age.jsonl:1: is not valid JSON: .*"),
        ("bbq .", "Ages.jsonl", AGE, r"\.: the folder has none of Age.jsonl, .*"),
        ("bbq Ages.jsonl", "Ages.jsonl", AGE, "Ages.jsonl: is none of Age.jsonl, .*; --any-version imports it anyway"),
        ("bbk .", "Age.jsonl", AGE, "import: unknown format 'bbk'; did you mean 'bbq'\\?"),
        ("bbq . -o Age.json", "Age.jsonl", AGE, "--output: expected a file that ends in .yaml, got 'Age.json'"),
        ("difference-awareness . --any-version", "D1_1k.pkl", pickle.dumps([[]]), "D1_1k.pkl: must hold two lists of questions; this is another version of the file"),
        ("difference-awareness . --any-version", "D1_1k.pkl", pickle.dumps([[["Who?", 0, 1]], []]), r"D1_1k.pkl: differ question 1: must have the options \(a\), \(b\) and \(c\)"),
        ("difference-awareness . --any-version", "D1_1k.pkl", pickle.dumps([Evil()]), "D1_1k.pkl: is not a pickle in the published format: it refers to .*, which is not loaded"),
        ("bbq . --any-version", "Age.jsonl", AGE + AGE, "Age.jsonl:5: another question has its id, 'age_0'"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"The grandson"', r'"The\ngrandson"'), "Age.jsonl:1: an answer has several lines"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"old"', '"same"'), "Age.jsonl:1: 'same' cannot be the name of a group"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace('"old"', '"?"'), "Age.jsonl:1: answer_info.ans0: expected a name with a letter or a digit, got '\\?'"),
        ("bbq . --any-version", "Age.jsonl", AGE.replace("grandson and", r"\ud800"), r"\.: has half a character, which is not Unicode text"),
        ("bbq . -o a\u2028b.yaml", "Age.jsonl", AGE, r"--output: the name of a checklist is made of letters a-z, digits, _ and -, got 'a\?b'"),
        ("esbbq . --any-version", "Age.full.csv", f"{files.as_csv(ES)}{'x,' * 20}\n", "Age.full.csv:18: has more fields than the first line of the file"),
        ("difference-awareness . --any-version", "D1_1k.pkl", pickle.dumps([[["Who?", 0, [1]]], []]), "D1_1k.pkl: differ question 1: must have a scenario that is text or a number"),
        ("difference-awareness . --any-version", "D1_1k.pkl", pickle.dumps([[], []]), r"\.: has no questions"),
        ("discrim-eval . --any-version", "explicit.jsonl", files.lines(files.discrim(1, 20.5, "male", "white")), "explicit.jsonl:1: age: expected a name with a letter or a digit, got 20.5"),
        ("discrim-eval .", "explicit.jsonl", files.lines(files.discrim(1, 20, "male", "white")), "explicit.jsonl: differs from the published version: 1 questions, not 9,450; .*"),
    ],
)  # fmt: skip
def test_wrong_files(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, name: str, content: str | bytes, message: str
) -> None:  # fmt: skip
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["import", *arguments.split(" "), "--partial"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(message, line), line
    assert [path.name for path in folder.iterdir()] == [name]
