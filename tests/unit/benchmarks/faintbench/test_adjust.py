"""What the paper promises: an occupation, a share or a weight is changed by one entry of an overlay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import cases, queries
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench
from pytest_factorfair.domain import Sampling
from pytest_factorfair.errors import ChecklistError
from tests.unit.benchmarks.faintbench.files import loaded, written

ALL = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all", per_prompt=1)
HEAD = "extends: faintbench\nname: own\n"


def changed(folder: Path, text: str) -> Faintbench:
    return written(folder, HEAD + text, file="own.yaml")


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ChecklistError) as caught:
        changed(folder, text)
    return str(caught.value)


def test_an_occupation_is_added(tmp_path: Path) -> None:
    adjusted = changed(
        tmp_path,
        "occupations:\n"
        "  barista:\n"
        "    name: Barista\n"
        "    category: food\n"
        "    weight: 2\n"
        "    shares:\n"
        "      gender: {man: 0.4, woman: 0.6}\n",
    )
    cases_by_id = {case.id: case for case in cases(adjusted, ALL)}
    assert len(cases_by_id) == 2654 + 1 + 2 + 5 + 3
    case = cases_by_id["explicit-occupation-barista-race-south_asian"]
    assert queries(adjusted, case, ALL)[0].prompt.startswith("a photo of one South Asian Barista, ")
    shares = adjusted.subject("barista").sides[0].shares
    assert shares["gender"] == {"man": 0.4, "woman": 0.6}
    assert shares["age"] == {"young": 0.418, "middle_aged": 0.391, "elderly": 0.191}


def test_a_share_is_changed(tmp_path: Path) -> None:
    adjusted = changed(tmp_path, "occupations: {nurse: {shares: {gender: {man: 0.2, woman: 0.8}}}}\n")
    base = loaded("faintbench")
    assert adjusted.subject("nurse").sides[0].shares == {
        **base.subject("nurse").sides[0].shares,
        "gender": {"man": 0.2, "woman": 0.8},
    }
    assert [
        subject.id
        for subject, original in zip(adjusted.subjects, base.subjects, strict=True)
        if subject != original
    ] == ["nurse"]
    assert adjusted.digest != base.digest


def test_a_weight_is_changed(tmp_path: Path) -> None:
    adjusted = changed(
        tmp_path, "relations: {mentor_mentee: {weight: 2.5}}\npairs: {rich_poor: {weight: 1}}\n"
    )
    assert adjusted.subject("mentor_mentee").weight == 2.5
    assert adjusted.pairs[0].weight == 1


def test_an_occupation_has_a_race_of_its_own(tmp_path: Path) -> None:
    race = "{european: 0.6, east_asian: 0.1, african: 0.1, latino: 0.1, south_asian: 0.1}"
    adjusted = changed(tmp_path, f"occupations: {{ceo: {{shares: {{race: {race}}}}}}}\n")
    assert adjusted.subject("ceo").sides[0].shares["race"]["european"] == 0.6


def test_an_occupation_is_removed(tmp_path: Path) -> None:
    adjusted = changed(tmp_path, "occupations: {dancer: null}\n")
    assert len(cases(adjusted, ALL)) == 2654 - 11


WRONG = [
    (
        "occupations: {nurse: null}\n",
        r"faintbench.yaml:\d+: pairs.surgeon_nurse.disadvantaged: unknown subject 'nurse'",
    ),
    (
        "occupations:\n  nurse:\n    shares:\n      gender: {man: 0.2}\n",
        r"own.yaml:6: occupations.nurse.shares.gender: the shares add up to 1.062, not to 1",
    ),
    (
        "occupations:\n  nurse: {shares: {gender: {man: -0.1, woman: 1.1}}}\n",
        r"own.yaml:4: occupations.nurse.shares.gender.man: must be at least 0, not -0.1; correct it",
    ),
    (
        "occupations:\n  barista: {name: Barista, category: fod, weight: 1}\n",
        r"own.yaml:4: occupations.barista.category: unknown category of occupations 'fod'; did you mean 'food'",
    ),
    (
        "occupations:\n  rich: {name: Rich, category: food, weight: 1}\n",
        r"'rich' is already occupations.rich; give it another name",
    ),
    (
        "occupations:\n  stem_learner: {name: STEM student, category: education, weight: 1}\n",
        r"own.yaml:4: occupations.stem_learner: 'STEM student' is already occupations.stem_student",
    ),
    (
        "pairs:\n  chef_sheff: {advantaged: chef, disadvantaged: cheff, weight: 1}\n",
        r"own.yaml:4: pairs.chef_sheff.disadvantaged: unknown subject 'cheff'; did you mean 'chef'",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_invalid_changes_are_reported_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    assert re.search(message, refused(tmp_path, text)), refused(tmp_path, text)
