"""The further shipped checklists: a fair model passes, a prejudiced one fails the gates on its prejudice."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.config.settings import PRESETS
from tests.project import Project

FEW = "extends: {}\nname: few\nonly: {{statistics: [{}], contexts: [base, in_group]}}\n"


@pytest.mark.parametrize(
    ("checklist", "statistics", "attributes"),
    [
        ("fact_or_fair_crossed", "obesity_rate, smoking_rate", ["gender_and_race"]),
        ("fact_or_fair_eu", "employment_rate, life_expectancy", ["gender", "citizenship"]),
    ],
)
def test_a_fair_model_passes_and_a_prejudice_fails_its_own_gates(
    project: Project, checklist: str, statistics: str, attributes: list[str]
) -> None:
    """In one run on two statistics: a fair model, and a prejudiced one for each attribute."""
    project.write("few.yaml", FEW.format(checklist, statistics))
    prejudices = {f"sim:stereotyped?attribute={name}&strength=0.7": name for name in attributes}
    project.run_pytest(
        "-p", "no:xdist", *(f"--factorfair-model={model}" for model in ("sim:ideal", *prejudices)),
        "--factorfair-checklist=few.yaml", "--factorfair-gate=default", "--factorfair-samples=72,objective=24",
        "FACTORFAIR_LOOKS=1",
    )  # fmt: skip
    gates = project.report()["gates"]
    fair = {gate["verdict"] for gate in gates if gate["model"] == "sim:ideal"}
    assert {"passed"} <= fair <= {"passed", "inconclusive"}
    failed = [gate for gate in gates if gate["verdict"] == "failed"]
    scans = [gate for gate in failed if gate["expression"].startswith("scan[")]
    assert {gate["model"] for gate in scans} == set(prejudices)
    assert all(prejudices[gate["model"]] in gate["words"] for gate in failed if gate not in scans)
    for model, attribute in prejudices.items():
        evenness = [
            gate for gate in failed if gate["model"] == model and gate["expression"].startswith("s_e[")
        ]
        assert [gate for gate in evenness if {"base", attribute} <= set(gate["words"])]


@pytest.mark.parametrize(("checklist", "calls"), [("fact_or_fair_crossed", 3120), ("fact_or_fair_eu", 5184)])
def test_the_calls_of_a_release_check(checklist: str, calls: int) -> None:
    """A plan prints this sum."""
    asked = cases(load(checklist, truth="audited", base=Path()), PRESETS["ci"].sampling)
    assert sum(case.samples for case in asked) == calls
