"""``only`` leaves a part of a checklist, for all benchmarks; the preset tiny makes such a part of any checklist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench
from pytest_factorfair.benchmarks.items.checklist import Items
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.errors import ChecklistError
from tests.unit.benchmarks.items import files
from tests.unit.checklist.files import loaded, refusal, write

HEAD = "extends: tea.yaml\nname: own\n"


def overlay(folder: Path, only: str) -> None:
    write(folder)
    (folder / "own.yaml").write_text(f"{HEAD}only: {only}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("only", "null"),
    [
        ("{statistics: [tea_rate]}", "topics: {fall_rate: null}"),
        ("{statistics: tea_rate, contexts: [base, news]}", "topics: {fall_rate: null}\ncontexts: {told: null}"),
        ("{attributes: [coast]}", ("statistics: {statistics: {tea_rate: {size: null}, fall_rate: null}}\n"
         "topics: {fall_rate: null}")),
        ("{attributes: size}", "statistics: {statistics: {tea_rate: {coast: null}}}"),
    ],
)  # fmt: skip
def test_it_is_short_for_removing_the_rest(tmp_path: Path, only: str, null: str) -> None:
    overlay(tmp_path, only)
    chosen = loaded(tmp_path, "own.yaml")
    (tmp_path / "own.yaml").write_text(HEAD + null, encoding="utf-8")
    assert chosen == loaded(tmp_path, "own.yaml")


def test_an_overlay_chooses_anew_from_all_that_its_base_has(tmp_path: Path) -> None:
    overlay(tmp_path, "{statistics: [tea_rate], contexts: [base]}")
    (tmp_path / "other.yaml").write_text("extends: own.yaml\nname: other\nonly: {statistics: fall_rate}\n")
    other = loaded(tmp_path, "other.yaml")
    assert [statistic.id for statistic in other.statistics] == ["fall_rate"]
    assert [context.id for context in other.contexts] == ["base"]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("{statistics: [tea_rat]}", "only.statistics[0]: there is no 'tea_rat' among the statistics; did you mean 'tea_rate'?"),
        ("{contexts: newss}", "only.contexts: there is no 'newss' among the contexts; did you mean 'news'?"),
        ("{attributes: [siz]}", "only.attributes[0]: there is no 'siz' among the attributes; did you mean 'size'?"),
        ("{statistic: [tea_rate]}", "only.statistic: unknown key 'statistic'; did you mean 'statistics'?"),
        ("[tea_rate]", "only: must be a mapping of statistics, contexts, attributes"),
        ("{contexts: []}", "only: leaves no valid checklist: tea.yaml:15: contexts: missing; 'subjective' needs at least one"),
        ("{statistics: {tea_rate: 1}}", "only.statistics: must be a name or a list of names"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen(tmp_path: Path, only: str, message: str) -> None:
    overlay(tmp_path, only)
    assert refusal(tmp_path, "own.yaml") == f"own.yaml:3: {message}"


def faintbench(folder: Path, only: str) -> Faintbench:
    (folder / "own.yaml").write_text(f"extends: faintbench\nname: own\nonly: {only}\n", encoding="utf-8")
    checklist = benchmarks.load("own.yaml", truth="audited", base=folder)
    assert isinstance(checklist, Faintbench)
    return checklist


def test_subjects_of_faintbench(tmp_path: Path) -> None:
    """Pairs stay if both of their subjects do."""
    chosen = faintbench(
        tmp_path, "{occupations: [chef, vendor, entrepreneur], characteristics: [], relations: []}"
    )
    assert [subject.id for subject in chosen.subjects] == ["entrepreneur", "chef", "vendor"]
    assert [(pair.advantaged.subject, pair.disadvantaged.subject) for pair in chosen.pairs] == [
        ("entrepreneur", "vendor")
    ]
    whole = benchmarks.load("faintbench", truth="audited", base=tmp_path)
    assert isinstance(whole, Faintbench)
    assert (
        benchmarks.lint("own.yaml", base=tmp_path) == ()
    )  # no category is without a subject in the whole file
    positive = faintbench(tmp_path, "{categories: positive}")
    assert positive.subjects == tuple(item for item in whole.subjects if item.category == "positive")
    with pytest.raises(
        ChecklistError, match=r"own.yaml:3: only.occupations\[0\]: there is no 'chf' among the occ"
    ):
        faintbench(tmp_path, "{occupations: [chf]}")


def test_items(tmp_path: Path) -> None:
    rows = [
        files.differs(0),
        files.told(0, ambiguous=True),
        files.told(0, ambiguous=False),
        files.decision(0),
    ]

    def ids(only: object, name: str = "own") -> list[str]:
        text = yaml.safe_dump({**files.HEAD, "name": name, "only": only}, sort_keys=False)
        lines = "\n".join(f"- {json.dumps(row)}" for row in rows)
        (tmp_path / "own.yaml").write_text(f"{text}items:\n{lines}\n", encoding="utf-8")
        checklist = benchmarks.load("own.yaml", truth="audited", base=tmp_path)
        assert isinstance(checklist, Items)
        return [item.id for item in checklist.items]

    all_ids = [str(row["id"]) for row in rows]
    assert ids({"items": all_ids[1]}) == all_ids[1:2]
    assert ids({"conditions": ["fact", "ambiguous"]}) == all_ids[:2]
    with pytest.raises(ChecklistError, match=r"there is no 'fct' among the conditions; did you mean 'fact'"):
        ids({"conditions": "fct"})


@pytest.mark.parametrize(
    ("name", "statistics"),
    [
        ("fact_or_fair", ["employment_rate", "crime_rate"]),
        ("fact_or_fair_t2i", ["employment_rate", "crime_rate"]),
        ("fact_or_fair_eu", ["employment_rate", "early_leaving_rate"]),
        ("fact_or_fair_crossed", ["weekly_income", "obesity_rate"]),
        ("faintbench", []),
    ],
)
def test_a_tiny_checklist_asks_some_hundred_questions(name: str, statistics: list[str]) -> None:
    """Good and bad figures, facts and judgements, every attribute."""
    whole = benchmarks.load(name, truth="audited", base=Path())
    tiny = benchmarks.load(name, truth="audited", base=Path(), tiny=True)
    assert (tiny.name, tiny.attributes) == (f"{name}_tiny", whole.attributes)
    assert tiny.digest != whole.digest
    cases = benchmarks.cases(tiny, PRESETS["tiny"].sampling.of(tiny.modality))
    assert 80 <= sum(case.samples for case in cases) <= 130
    if isinstance(tiny, FactOrFair):
        assert [statistic.id for statistic in tiny.statistics] == statistics
    else:
        assert isinstance(tiny, Faintbench)
        assert {subject.kind for subject in tiny.subjects} == {"occupation", "characteristic", "relation"}
