"""Every recipe does what its README says, run as a user would run it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

RECIPES = Path(__file__).parents[2] / "conftest_examples"

EXPECTED: dict[str, list[tuple[int, str]]] = {
    "own_model": [(0, "522 passed")],
    "wrapped_model": [(0, " refused, 0 unread, 0 errors")],
    "own_assertion": [(0, "6 passed"), (1, "6 failed")],
    "own_detector": [(0, "read by the detector sure")],
    "own_checklist": [(0, ""), (0, "passed"), (0, "passed")],
    "ci_gates": [(0, "passed"), (1, "FAILED factorfair::gate[s_e-baseline-gender]")],
}
"""By recipe: the exit code and a part of what is printed, for each command of its README in turn."""


def commands(recipe: str) -> list[str]:
    text = (RECIPES / recipe / "README.md").read_text(encoding="utf-8")
    return [
        line.removeprefix("$ ")
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a README's command with this interpreter's pytest and factorfair."""
    program, *arguments = shlex.split(command)
    module = {"pytest": ["pytest", "-p", "no:xdist"], "factorfair": ["pytest_factorfair.cli"]}[program]
    return subprocess.run(
        [sys.executable, "-m", *module, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_every_recipe_is_here() -> None:
    assert {path.name for path in RECIPES.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(
        EXPECTED
    )


@pytest.mark.parametrize("recipe", EXPECTED)
def test_recipe(recipe: str, tmp_path: Path) -> None:
    folder = tmp_path / recipe
    shutil.copytree(RECIPES / recipe, folder)
    (folder / "pytest.ini").write_text("[pytest]\n") if not (folder / "pyproject.toml").exists() else None
    found = commands(recipe)
    assert len(found) == len(EXPECTED[recipe])
    for command, (code, printed) in zip(found, EXPECTED[recipe], strict=True):
        done = run(command, folder)
        assert done.returncode == code, done.stdout[-3000:] + done.stderr
        assert printed in done.stdout


def report(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / ".factorfair/report/report.json").read_text())
    return loaded


def test_the_own_checklist_has_three_attributes_of_which_one_is_crossed(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(RECIPES / "own_checklist", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    model = "sim:oracle?attribute=gender_race"
    run(f"pytest --factorfair-model={model} --factorfair-checklist=commuting.yaml", folder)
    told = report(folder)
    scores = {
        (score["context"] or score["part"], score["attribute"], score["metric"]): score["value"]
        for score in told["scores"]
    }
    assert {attribute for _, attribute, _ in scores} == {"gender", "race", "gender_race"}
    assert scores["objective", "gender_race", "s_fact"] == 1
    # the crossed statistic (one of two topics' statistics) is all there is of that attribute: always its true group
    assert scores["baseline", "gender_race", "s_fact"] == 1
    assert scores["rumor", "gender_race", "s_e"] == 0
    groups = {tuple(topic["counts"]) for topic in told["topics"] if topic["attribute"] == "gender_race"}
    assert [len(names) for names in groups] == [8]


def test_the_filter_shows_as_refusals_about_crime_only(tmp_path: Path) -> None:
    folder = tmp_path / "wrapped"
    shutil.copytree(RECIPES / "wrapped_model", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    run(commands("wrapped_model")[0], folder)
    refused = {topic["statistic"] for topic in report(folder)["topics"] if topic["refused"]}
    assert refused == {"crime_rate"}


def test_the_workflow_runs_the_command_it_documents(tmp_path: Path) -> None:
    """The shell of the workflow's pytest step, run as GitHub would, with its environment."""
    folder = tmp_path / "ci"
    shutil.copytree(RECIPES / "ci_gates", folder)
    workflow = yaml.safe_load((folder / ".github/workflows/factorfair.yml").read_text())
    step = next(
        step for step in workflow["jobs"]["factorfair"]["steps"] if "pytest --" in step.get("run", "")
    )
    page = tmp_path / "summary.md"
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "pytest").symlink_to(Path(sys.executable).parent / "pytest")
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=folder, capture_output=True, text=True, check=False,
        env={**step["env"], "GITHUB_STEP_SUMMARY": str(page), "PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert page.read_text().startswith("<!-- pytest-factorfair -->\n\n## factorfair: `sim:ideal`\n")
    assert 'name="gate[s_e-baseline-gender]"' in (folder / "factorfair.xml").read_text()
