"""A plan that is fixed before a run: only the same run may follow it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.project import PLUGIN, Project

GATE = "--factorfair-gate=s_e[base,gender] >= 0.90"
LOCKED = "--factorfair-locked=plan.json"
RUN = ("-p", "no:xdist", PLUGIN)


@pytest.fixture
def locked(project: Project) -> Path:
    """The file of the plan of a run with one gate."""
    result = project.run(*RUN, GATE, "--factorfair-plan", "--factorfair-lock=plan.json")
    assert result.ret == 0
    path = project.path / "plan.json"
    result.stdout.fnmatch_lines(
        [f"locked: {path}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}; *"]
    )
    assert not project.report_path.exists()
    return path


def test_a_run_by_its_plan_has_the_digest(project: Project, locked: Path) -> None:
    content = locked.read_bytes()
    assert content == json.dumps(json.loads(content), sort_keys=True, separators=(",", ":")).encode()
    assert json.loads(content)["gates"] == ["s_e[base,gender] >= 0.90"]
    assert b'"refuse":"0.0"' in content  # a float has several spellings, its text has one
    assert project.run(*RUN, GATE, LOCKED).ret == 1
    assert project.report()["fingerprint"]["plan"] == hashlib.sha256(content).hexdigest()
    result = project.run(*RUN, GATE, LOCKED, "-k", "objective")
    result.stdout.fnmatch_lines(
        ["release: UNDECIDED*", "*left out by -k 'objective'*", "*run them all: a locked plan is for all*"]
    )


def test_a_run_that_differs_stops_before_the_first_call(project: Project, locked: Path) -> None:
    project.write("less.yaml", "schema: factorfair.checklist/1\nname: less\nextends: small.yaml\n")
    differences = {
        ("--factorfair-gate=s_e[base,gender] >= 0.9",): 'gates is ["s_e[base,gender] >= 0.90"] there, ["s_e[base,gender] >= 0.9"]',
        (GATE, "--factorfair-seed=3"): "seed is 0 there, 3",
        (GATE, "--factorfair-samples=48,objective=4"): "samples answers is 24 there, 48",
        (GATE, "--factorfair-model=sim:uniform"): "models sim:uniform is not given there, {",
        (GATE, "--factorfair-checklist=less.yaml"): "checklists less is not given there, ",
        (GATE, "FACTORFAIR_INTERVAL=scenarios"): 'interval is "instrument" there, "scenarios"',
    }  # fmt: skip
    for arguments, difference in differences.items():
        result = project.run(*RUN, LOCKED, *arguments)
        assert result.ret == 4
        (line,) = [line for line in result.errlines if line]
        assert line.startswith(f"ERROR: --factorfair-locked {locked}: {difference}")
        assert line.endswith(" in this run")
    assert not project.report_path.exists()


def test_a_file_that_is_no_plan_is_one_line(project: Project, locked: Path) -> None:
    newer = locked.read_text().replace("factorfair.plan/1", "factorfair.plan/2")
    problems = {
        newer: "not a plan of this version: its schema is 'factorfair.plan/2', 'factorfair.plan/1' is needed",
        "[]": "not a plan of this version: its schema is None, 'factorfair.plan/1' is needed",
        locked.read_text()[:50]: "not JSON; expected a plan that --factorfair-lock wrote",
    }
    for content, problem in problems.items():
        locked.write_text(content)
        result = project.run(*RUN, GATE, LOCKED)
        assert result.ret == 4
        assert f"ERROR: --factorfair-locked {locked}: {problem}" in result.errlines
    locked.unlink()
    result = project.run(*RUN, GATE, LOCKED)
    result.stderr.fnmatch_lines(
        ["*: No such file or directory; --factorfair-plan --factorfair-lock=FILE writes it"]
    )
    result = project.run(*RUN, GATE, "--factorfair-lock=plan.json")
    result.stderr.fnmatch_lines(["ERROR: --factorfair-lock: needs --factorfair-plan, which asks nothing"])
