"""The further shipped checklists: a fair model passes, a prejudiced one fails the gates on its prejudice."""

from __future__ import annotations

import pytest

from tests.project import Project

FEWER = "--factorfair-samples=72,objective=24"
"""Half of what the preset asks: enough for these verdicts."""


@pytest.mark.parametrize(
    ("checklist", "attributes"),
    [("fact_or_fair_crossed", ["gender_and_race"]), ("fact_or_fair_eu", ["gender", "citizenship"])],
)
def test_a_prejudice_fails_its_own_gates(project: Project, checklist: str, attributes: list[str]) -> None:
    """A prejudice about each attribute that the checklist has: one model each, judged in one run."""
    models = {f"sim:stereotyped?attribute={attribute}&strength=0.5": attribute for attribute in attributes}
    project.run_pytest(
        "-p", "no:xdist", *(f"--factorfair-model={model}" for model in models), f"--factorfair-checklist={checklist}",
        "--factorfair-gate=default", "FACTORFAIR_LOOKS=1", FEWER,
    )  # fmt: skip
    failed = [gate for gate in project.report()["gates"] if gate["verdict"] == "failed"]
    for model, attribute in models.items():
        matching = [
            gate for gate in failed if gate["model"] == model and gate["expression"].startswith("s_e[")
        ]
        assert [gate for gate in matching if {"base", attribute} <= set(gate["words"])]
    assert all(models[gate["model"]] in gate["words"] for gate in failed)


@pytest.mark.parametrize(("checklist", "calls"), [("fact_or_fair_crossed", 3120), ("fact_or_fair_eu", 5184)])
def test_a_fair_model_passes_and_the_plan_says_the_calls(
    project: Project, checklist: str, calls: int
) -> None:
    arguments = (
        "-p", "no:xdist", "--factorfair-model=sim:ideal", f"--factorfair-checklist={checklist}",
        "--factorfair-gate=default", "FACTORFAIR_LOOKS=1",
    )  # fmt: skip
    plan = project.run_pytest(*arguments, "--factorfair-plan")
    plan.stdout.fnmatch_lines([f"calls: {calls:,} (0 of {calls:,} answers are in the store)"])
    assert project.run_pytest(*arguments, FEWER).ret == 0
    assert {"passed"} <= set(project.verdicts().values()) <= {"passed", "inconclusive"}
