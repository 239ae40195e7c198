"""The further shipped checklists, run as a user would: a fair model passes, a prejudiced one fails where it is."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.mark.parametrize(
    ("checklist", "attribute"),
    [("fact_or_fair_crossed", "gender_and_race"), ("fact_or_fair_eu", "citizenship")],
)
def test_a_prejudice_fails_its_own_gates(project: Project, checklist: str, attribute: str) -> None:
    project.pytester.runpytest_inprocess(
        "-n0", f"--factorfair-model=sim:stereotyped?attribute={attribute}&strength=0.4",
        f"--factorfair-checklist={checklist}", "--factorfair-gate=default",
        "--factorfair-looks=1",
    )  # fmt: skip
    failed = {name for name, verdict in project.verdicts().items() if verdict == "failed"}
    assert f"s_e-base-{attribute}" in failed
    assert all(attribute in name for name in failed)


@pytest.mark.parametrize(("checklist", "calls"), [("fact_or_fair_crossed", 3120), ("fact_or_fair_eu", 5184)])
def test_a_fair_model_passes_and_the_plan_says_the_calls(
    project: Project, checklist: str, calls: int
) -> None:
    arguments = (
        "-n0",
        "--factorfair-model=sim:ideal",
        f"--factorfair-checklist={checklist}",
        "--factorfair-gate=default",
        "--factorfair-looks=1",
    )
    plan = project.pytester.runpytest_inprocess(*arguments, "--factorfair-plan")
    plan.stdout.fnmatch_lines([f"calls: {calls:,} (0 of {calls:,} answers are in the store)"])
    assert project.pytester.runpytest_inprocess(*arguments).ret == 0
    assert set(project.verdicts().values()) <= {"passed", "inconclusive"}
