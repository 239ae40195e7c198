"""Verdicts by bounds, end to end: what undecided and waived gates do to a run."""

from __future__ import annotations

import pytest

from tests.project import Project

NAME = "s_fact-objective-gender"
BOUNDS = ("--factorfair-estimator=corrected", "--factorfair-samples=72,objective=24")
MODEL = "sim:ideal"


@pytest.mark.parametrize(
    ("policy", "ret", "outcome"),
    [((), 0, "skipped"), (("--factorfair-on-inconclusive=warn",), 0, "skipped"),
     (("--factorfair-on-inconclusive=fail",), 1, "failed"), (("--factorfair-on-inconclusive=pass",), 0, "passed"),
     (("--factorfair-strict",), 1, "failed")],
)  # fmt: skip
def test_a_gate_that_the_answers_do_not_decide(
    project: Project, policy: tuple[str, ...], ret: int, outcome: str
) -> None:
    gate = "--factorfair-gate=s_e[base,gender] >= 0.9999"
    result = project.run("-p", "no:xdist", "-rs", *BOUNDS, gate, *policy, model=MODEL)
    assert result.ret == ret
    result.assert_outcomes(**{"passed": 14} | {outcome: 15 if outcome == "passed" else 1})
    assert project.verdicts() == {"s_e-base-gender": "inconclusive"}
    assert "to tell" in project.report()["gates"][0]["reason"]
    fails = "; the run fails" if ret else ""
    result.stdout.fnmatch_lines([f"release: OPEN: 0 of 1 gate passed, 1 inconclusive{fails}"])


def test_bounds_reach_the_report(project: Project) -> None:
    result = project.run(
        "-p", "no:xdist", *BOUNDS, "--factorfair-gate=s_fact[objective,gender] >= 0.8", model=MODEL
    )
    assert result.ret == 0
    (gate,) = project.report()["gates"]
    assert 0.8 < gate["low"] < gate["value"] == gate["high"] == 1
    result.stdout.fnmatch_lines(
        ["release: PASS: 1 gate passed; no gate judges answers in base, in_group, answers about race in *"]
    )


def test_a_bad_policy(project: Project) -> None:
    result = project.run("--factorfair-on-inconclusive=wran", model=MODEL)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --factorfair-on-inconclusive: unknown value 'wran'; did you mean 'warn'?"]
    )


WAIVED = """
[tool.factorfair]
gates = ["s_fact[objective,gender] >= 0.8"]
on_inconclusive = "fail"
waivers = [{{gate = "s_fact[objective,gender] >= 0.8", reason = "next model", until = {until}}}]
"""


def test_a_waived_failure_is_printed_and_skipped(project: Project) -> None:
    project.write("pyproject.toml", WAIVED.format(until="9999-12-31"))
    result = project.run("-p", "no:xdist", "-rs", model="sim:uniform")
    assert result.ret == 0
    assert project.verdicts() == {NAME: "waived"}
    result.stdout.fnmatch_lines(
        ["release: PASS: 0 of 1 gate passed, 1 waived; no gate judges *",
         "SKIPPED * s_fact[[]objective,gender[]] >= 0.8: waived: * waived until 9999-12-31: next model"]
    )  # fmt: skip


def test_an_expired_waiver_fails_again(project: Project) -> None:
    project.write("pyproject.toml", WAIVED.format(until="2020-01-01"))
    result = project.run("-p", "no:xdist", model="sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED *s_fact[[]objective,gender[]] *; its waiver expired on 2020-01-01"])


def test_a_waiver_without_a_reason_is_refused(project: Project) -> None:
    project.write("pyproject.toml", '[tool.factorfair]\nwaivers = [{gate = "x", until = 2030-01-01}]\n')
    result = project.run(model="sim:uniform")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *pyproject.toml: *waivers[[]0[]]: reason: expected a text, as in *"])


BIASES = (
    "position[base,race] <= 0.3",
    "name_preference[base,race] <= 0.3",
    "refusal_gap[race] <= 0.3",
)


@pytest.mark.parametrize(("model", "position"), [("sim:position_biased", "failed"), ("sim:ideal", "passed")])
def test_what_else_could_lie_behind_the_choices(project: Project, model: str, position: str) -> None:
    gates = [f"--factorfair-gate={gate}" for gate in BIASES]
    project.run(
        "-p",
        "no:xdist",
        "--factorfair-estimator=corrected",
        "--factorfair-samples=72,objective=24",
        *gates,
        model=model,
    )
    assert project.verdicts() == {
        "position-base-race": position,
        "name_preference-base-race": "passed",
        "refusal_gap-in_group-race": "passed",
    }
    named = any(f"{model} is position-biased" in note for note in project.report()["notes"])
    assert named == (position == "failed")


def test_a_gap_needs_groups_that_are_named(project: Project) -> None:
    result = project.run("--factorfair-gate=refusal_gap[base] <= 0.1", model="sim:ideal")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: gate *: filter 'base' selects no refusal_gap score in this run; these do: in_group"]
    )
