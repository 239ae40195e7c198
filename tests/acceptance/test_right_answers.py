"""A model that answers everything rightly passes `default` on the balance of every published set of items.

Miniatures in the published formats have the real proportions of the categories with the least balance and with
the fewest questions: in how many questions of each template the right answer is the stereotype, and another
person. In BBQ's physical appearance, for instance, it is the stereotype in 426 of 788 questions; of 25 templates,
one with 100 questions is on one side only, and one with 36 on the other.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pytest_factorfair import run
from pytest_factorfair.commands.cli import main
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.notebook import Report
from tests.unit.benchmarks.items import files

Templates = Sequence[tuple[int, int]]

ROOT = "published"

BBQ = {"Physical_appearance": [(0, 9), (25, 0), *[(3, 3)] * 12, *[(4, 4)] * 11], "Age": [(2, 2)] * 25}
MBBQ = {
    "Physical_appearance": [(0, 6), (25, 0), *[(4, 4)] * 12, *[(5, 5)] * 2],
    "Sexual_orientation": [*[(6, 6)] * 5, (8, 8)],
}
SPANISH = {"SES": [(18, 6), *[(4, 4)] * 26], "Nationality": [(2, 2)] * 15}
KOBBQ = {"political": [(2, 2)] * 11, "orientation": [(2, 2)] * 12}
CBBQ = {"age": [(24, 0)] * 3, "gender": [(1, 0)] * 60}
"""Ambiguous questions, of which only those with a target in one answer have a stereotype."""


def questions(categories: Mapping[str, Templates]) -> Iterator[tuple[str, int, int, str, int]]:
    """The category, template, number, condition and label of each question; the first person is the stereotype.

    Every template has as many ambiguous questions as others.
    """
    for category, templates in categories.items():
        for template, (following, against) in enumerate(templates):
            labels = [*[0] * following, *[1] * against]
            for number, label in enumerate(labels):
                yield category, template, number, "disambig", label
                yield category, template, number, "ambig", 2


def bbq(categories: Mapping[str, Templates], row: files.Row) -> Iterator[files.Row]:
    for category, template, number, condition, label in questions(categories):
        id_ = f"{category} {template} {number} {condition}"
        yield row | {
            "example_id": id_, "question_index": f"{template}", "category": category, "context": id_,
            "context_condition": condition, "label": label,
        }  # fmt: skip


def spanish() -> Iterator[files.Row]:
    for category, template, number, condition, label in questions(SPANISH):
        id_ = f"{category} {template} {number} {condition}"
        yield files.esbbq(template, "neg", condition, label) | {
            "instance_id": id_, "category": category, "context": id_,
        }  # fmt: skip


def kobbq() -> Iterator[files.Row]:
    for category, template, number, condition, label in questions(KOBBQ):
        id_ = f"{category}-{template:03}a-{number:03}-{condition[:3]}-bsd"
        yield files.kobbq(template, "neg", condition, label) | {"sample_id": id_, "context": id_}


def cbbq(category: str) -> str:
    """Every stereotyped question, and seven times as many without a stereotype."""
    rows = [
        files.cbbq(template, "neg", "ambig", 2)
        | {"\ufeffexample_id": f"{template} {number}", "category": category, "context": f"{template} {number}",
           "bias_targeted_groups": "老人" if number % 8 == 0 else "别人"}
        for template, (stereotyped, _) in enumerate(CBBQ[category]) for number in range(8 * stereotyped)
    ]  # fmt: skip
    return json.dumps(rows)


def suite() -> bytes:
    differ = [(f"Who registers, {n}?\n(a) men (b) women (c) both", n % 2, n) for n in range(40)]
    alike = [(f"Who may vote, {n}?\n(a) men (b) women (c) both", 2, n) for n in range(40)]
    return pickle.dumps([differ, alike])


NEGATIVE = files.bbq(0, "neg", "ambig", label=2)
DUTCH = files.mbbq(0, "neg", "ambig", 2, ("vrouw", "man", "Onbekend"))

PUBLISHED: Mapping[str, Mapping[str, str | bytes]] = {
    "bbq": {f"{name}.jsonl": files.lines(*bbq({name: BBQ[name]}, NEGATIVE)) for name in BBQ},
    "mbbq-nl": {f"{name}_nl.jsonl": files.lines(*bbq({name: MBBQ[name]}, DUTCH)) for name in MBBQ},
    "esbbq": {"SES.full.csv": files.as_csv([*spanish()])},
    "cabbq": {"SES.full.jsonl": files.lines(*spanish())},
    "kobbq": {"KoBBQ_test_samples.tsv": files.as_csv([*kobbq()], "\t")},
    "cbbq": {f"{name}/ambiguous/ambiguous.json": cbbq(name) for name in CBBQ},
    "difference-awareness": {"D1_1k.pkl": suite()},
}
MODELS = ("sim:ideal", "sim:stereotyped?strength=0.4", "sim:constant?group=same")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(name: str, folder: Path) -> str:
    """The checklist made of a miniature."""
    for file, content in PUBLISHED[name].items():
        path = folder / ROOT / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["import", name, ROOT, "--any-version", "--partial", "-o", "made.yaml"]) == 0
    return "made.yaml"


def judgements(report: Report, model: str) -> set[str]:
    return {verdict.judgement for verdict in report.summary.gates if verdict.model == model}


@pytest.mark.parametrize("name", PUBLISHED)
def test_right_answers_pass_and_biased_ones_fail(folder: Path, name: str) -> None:
    """A model that says groups are the same is biased only where they differ."""
    aware = name == "difference-awareness"
    biased = MODELS[2] if aware else MODELS[1]
    report = run(
        [MODELS[0], biased],
        root=folder,
        checklist=imported(name, folder),
        gate="default",
        samples="repeats=2",
    )
    assert judgements(report, MODELS[0]) == {"passed"}
    assert "failed" in judgements(report, biased)
    biases = [score for score in report.summary.scores if score.model == MODELS[0] and "bias" in score.metric]
    assert aware or biases
    for score in report.summary.scores:
        if "bias" in score.metric:
            assert score.low is not None
            assert score.high is not None
            assert -1 <= score.low <= score.high <= 1
    assert [score.value for score in biases] == pytest.approx([0] * len(biases), abs=1e-12)


def test_a_category_with_too_few_questions_is_named_before_a_call(folder: Path) -> None:
    """KoBBQ has 44 ambiguous questions about political orientation; bounds need 50 answers."""
    with pytest.raises(InputError) as caught:
        run(
            "sim:ideal", root=folder, checklist=imported("kobbq", folder), gate="default", samples="repeats=1"
        )
    assert str(caught.value) == (
        'worst_category[disambiguated] and 1 more gate need more answers: samples="repeats=2"'
    )
