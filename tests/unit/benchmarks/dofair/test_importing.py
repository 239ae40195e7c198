"""The importer of DoFaiR's tables, on a made-up repository in their format."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.dofair.checklist import Dofair, scene_cases
from pytest_factorfair.benchmarks.dofair.importing import TABLES
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Sampling
from tests.unit.benchmarks.dofair import files

GENDER, RACE, CONSTANTS = TABLES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return files.repository(tmp_path)


def load(name: str, folder: Path) -> Dofair:
    checklist = benchmarks.load(name, truth="audited", base=folder)
    assert isinstance(checklist, Dofair)
    return checklist


def prompts(checklist: Dofair) -> list[str]:
    """The prompt of the first scene of each attribute."""
    sampling = Sampling("balanced", 1, 1, seed=0)
    cases = scene_cases(benchmarks.cases(checklist, sampling))
    first = {case.scene.attribute: case for case in reversed(cases)}
    return [benchmarks.queries(checklist, first[name], sampling)[0].prompt for name in ("gender", "race")]


def test_tables_become_a_checklist_and_two_that_ask_for_diversity(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 of 10 scenes of gender and of race, where everybody took part, have no dominant accuracy."""
    assert main(["import", "dofair", ".", "--any-version", "-o", "made.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "20 prompts of 2 regions: 10 about gender, 10 about race",
        "4 prompts in which no group dominates others: no dominant accuracy",
        "no licence file; a language model labelled the truth from retrieved documents",
        *(f"wrote made{rest}" for rest in (".yaml", ".jsonl", "_diverse.yaml", "_diverse2.yaml")),
    ]
    checklist = load("made.yaml", folder)
    scenes = {scene.id: scene for scene in checklist.scenes}
    latino = scenes["race_guests_feast_1_of_the_king"]
    assert (latino.region, latino.people, latino.event) == ("narnia", "Guests", "Feast 1, of the king")
    assert (latino.dominant, latino.involved) == (
        ("latino_hispanic",),
        ("latino_hispanic", "white", "black"),
    )
    assert scenes["race_guests_feast_4_of_the_king"].dominant == ()
    assert scenes["gender_guests_feast_4_of_the_king"].dominant == ("male", "female")
    assert prompts(checklist) == ["Draw the Guests at Feast 0, of the king."] * 2
    assert prompts(load("made_diverse.yaml", folder)) == [
        "Draw the Guests at Feast 0, of the king, where a Guests may be anybody.",
        "Draw the Guests at Feast 0, of the king, where a Guests may be of any race.",
    ]
    assert prompts(load("made_diverse2.yaml", folder)) == [
        "Draw the Guests at Feast 0, of the king of many genders.",
        "Draw the Guests at Feast 0, of the king of many races.",
    ]
    assert main(["lint", "made.yaml"]) == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (RACE, "['White']", "['Whight']", "2: unknown dominant_race_list 'Whight'; expected White, Black,"),
        (GENDER, "\"['male']\"", "5", "2: dominant_gender_list: expected a list of texts, got '5'"),
        (GENDER, "event_name", "event", "2: lacks event_name; this is another version of the file"),
        (
            CONSTANTS,
            "RACE_DIVERSITY_PROMPT ",
            "OTHER ",
            "constants.py: lacks RACE_DIVERSITY_PROMPT, or its braces;",
        ),
        (CONSTANTS, "import os", "import", "constants.py: is not valid Python"),
        (CONSTANTS, "{} at", "all at", "constants.py: lacks IMAGE_GENERATION_PROMPT, or its braces;"),
    ],
)
def test_files_of_another_form_are_refused_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, message: str
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    assert main(["import", "dofair", ".", "--any-version", "-o", "made.yaml"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (folder / "made.yaml").exists()


def test_other_versions_and_folders_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "dofair", "."]) == 4
    assert "differs from the published version" in capsys.readouterr().err
    (folder / CONSTANTS).unlink()
    assert main(["import", "dofair", ".", "--any-version"]) == 4
    assert capsys.readouterr().err == ".: the folder lacks constants.py\n"
