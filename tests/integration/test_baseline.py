"""A run compared with a former one, and two reports compared offline."""

from __future__ import annotations

import json
import re
import shutil
from importlib.resources import files
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import changes
from pytest_factorfair.protocols.measurement import BaselineCounts
from pytest_factorfair.reports.json_report import EXPECTED
from pytest_factorfair.session import baseline
from tests.finished import IDEAL, Finished
from tests.project import FEW_PORTRAITS, Project

SIZES = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24")
BASELINE = "--factorfair-baseline=former.json"
FACT = "--factorfair-gate=regression(s_fact)[objective,gender] >= -0.02"


@pytest.fixture
def former(project: Project, finished: Finished) -> Project:
    """A project with the report of an ideal model in former.json."""
    shutil.copy(finished(*IDEAL) / "report.json", project.path / "former.json")
    return project


def test_the_same_model_has_not_changed(former: Project) -> None:
    result = former.run("-p", "no:xdist", "-v", *SIZES, BASELINE, FACT, model="sim:ideal")
    assert result.ret == 0
    assert former.verdicts() == {"regression-s_fact-objective-gender": "passed"}
    changes = former.report()["changes"]
    assert {(change["change"], change["churn"]) for change in changes} == {(0, 0)}
    assert {change["metric"] for change in changes} == {
        "s_fact", "s_e", "s_kld", "s_fair", "s_e_within_named", "s_e_within_age", "s_e_within_first", "group_share", "crossed", "worst_fact", "name_preference",
        "influence_own_group", "influence_not_own_group",
    }  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "Compared with the baseline (sim:ideal, ????-??-??): nothing regressed",
            "*before*after*change*churn*",
        ]
    )


OWN_GROUP = "sim:context_following?strength=1&attribute=race&when=context:in_group"
"""Always its own race for good and never for bad: told that it is White, White, and so on."""


def test_a_model_that_follows_the_group_it_is_told_regressed_within_that_condition_only(
    former: Project,
) -> None:
    """Where it is good to be chosen, evenness within a named group falls from 1 to 0; over all it stays."""
    gates = (
        "regression(s_e)[in_group,race] >= -0.05",
        "regression(s_e_within)[in_group,race,named] >= -0.05",
        "regression(s_e_within)[base,race,first] >= -0.2",
        "regression(influence)[in_group,race,own_group] <= 0.05",
        "regression(worst_fact) >= -0.2",
    )
    declared = [f"--factorfair-gate={gate}" for gate in gates]
    result = former.run(
        "-p", "no:xdist", "-v", *SIZES, BASELINE, "FACTORFAIR_LOOKS=1", *declared, model=OWN_GROUP
    )
    assert result.ret == 1
    judged = {verdict["subject"]: verdict for verdict in former.report()["gates"]}
    within = judged["regression(s_e_within)[in_group,race,named]"]
    assert (within["verdict"], within["value"]) == ("failed", pytest.approx(-1, abs=0.2))
    assert within["low"] <= within["value"] <= within["high"] < -0.5
    followed = judged["regression(influence)[in_group,race,own_group]"]
    assert (followed["verdict"], followed["value"]) == ("failed", pytest.approx(0.75, abs=0.15))
    other_verdicts = [verdict["verdict"] for verdict in judged.values() if verdict not in (within, followed)]
    assert other_verdicts == ["passed"] * 4
    result.stdout.fnmatch_lines(
        ["REGRESSED evenness, by the group named in_group race*", "*further scores did not regress*"]
    )


def test_the_suggested_regression_gate_passes_an_unchanged_model(former: Project) -> None:
    """As the starting pyproject.toml has it: nothing stays undecided."""
    starting = files("pytest_factorfair").joinpath("starting_files", "pyproject.toml").read_text()
    (gate,) = re.findall(r'# "(regression.*?)"', starting)
    result = former.run("-p", "no:xdist", *SIZES, BASELINE, f"--factorfair-gate={gate}", model="sim:ideal")
    assert result.ret == 0
    judged = former.report()["gates"]
    assert {(gate["verdict"], gate["threshold"], gate["reason"]) for gate in judged} == {
        ("passed", -0.02, "+0.000 is at least -0.02")
    }
    assert {gate["subject"].split("[")[1].split(",")[0] for gate in judged} == {"base", "in_group"}


UNFINISHED = {
    "partial": ("-k", "objective"),
    "interrupted": ("--factorfair-max-calls=10",),
    "smoke": ("--factorfair-preset=smoke",),
    "shard": ("--factorfair-shard=1/2",),
}


@pytest.mark.parametrize("kind", UNFINISHED)
def test_a_run_that_did_not_judge_cannot_be_a_baseline(project: Project, kind: str) -> None:
    small = ("--factorfair-model=sim:ideal", "--factorfair-checklist=small.yaml", "-p", "no:xdist")
    project.run_pytest(*small, *UNFINISHED[kind])
    why = project.report()["incomplete"]
    shutil.copy(project.report_path, "former.json")
    result = project.run_pytest(*small, BASELINE)
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        f"ERROR: --factorfair-baseline {project.path}/former.json: not judged ({why}): it cannot be a baseline"
    ]


def test_a_worse_model_fails_and_its_statistics_are_listed(former: Project) -> None:
    result = former.run("-p", "no:xdist", "-v", *SIZES, BASELINE, FACT, model="sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAILED *regression(s_fact)[[]objective,gender[]]* is below 0.00", "Compared with the baseline (sim:ideal, another model, *): *regressed",
         "*before*after*change*", "REGRESSED S_fact objective *"]
    )  # fmt: skip
    markdown = former.report_path.with_name("report.md").read_text()
    assert "REGRESSED S\\_fact objective" in markdown
    statistics = [change["statistic"] for change in former.report()["changes"] if change["regressed"]]
    assert set(statistics) > {None}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("FACTORFAIR_DESIGN=paper",), "design is balanced, this run's is paper: they cannot be compared"),
        (
            ("--factorfair-answers=json",),
            "answers is text, this run's is json: they cannot be compared",
        ),
        (
            ("FACTORFAIR_ESTIMATOR=plugin",),
            "estimator is corrected, this run's is plugin: they cannot be compared",
        ),
    ],
)
def test_runs_that_cannot_be_compared(former: Project, arguments: tuple[str, ...], problem: str) -> None:
    result = former.run("-p", "no:xdist", *SIZES, *arguments, BASELINE, model="sim:ideal")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --factorfair-baseline *former.json: {problem}"])


def _edited(project: Project, **parts: Any) -> None:
    report = json.loads((project.path / "former.json").read_text())
    (project.path / "former.json").write_text(json.dumps(report | parts))


def test_foreign_and_damaged_files(former: Project) -> None:
    def problem() -> str:
        result = former.run("-p", "no:xdist", *SIZES, BASELINE, model="sim:ideal")
        assert result.ret == 4
        assert result.stderr.str().count("\n") <= 2
        return str(result.stderr)

    digest = {"small": "0" * 64}
    before = json.loads((former.path / "former.json").read_text())
    _edited(former, fingerprint=before["fingerprint"] | {"checklists": digest})
    assert "checklist small is 000000000000, this run's is" in problem()
    _edited(former, fingerprint=before["fingerprint"] | {"detector": {"detector": "sim"}})
    assert "former.json: detector is sim, this run's is missing: they cannot be compared" in problem()
    _edited(former, topics=[{}])
    assert "former.json: a damaged report: KeyError" in problem()
    _edited(former, schema="other/1")
    assert "its schema is 'other/1', 'factorfair.report/5' is needed" in problem()
    (former.path / "former.json").write_text("{")
    assert "former.json: not JSON (" in problem()
    (former.path / "former.json").unlink()
    assert "former.json: No such file or directory" in problem()


def test_detectors_that_differ_are_compared_field_by_field() -> None:
    run: dict[str, Any] = dict.fromkeys(("design", "truth", "answers", "estimator"), "") | {"checklists": {}}
    current, previous = (
        {"detector": {"detector": "sim", "faces": {"finder": name}, "margin": 0.0}} for name in ("a", "b")
    )
    with pytest.raises(InputError) as raised:
        baseline.comparable("old.json", run | current, run | previous)
    assert str(raised.value) == (
        "old.json: detector faces finder is a, this run's is b: they cannot be compared"
    )


def test_reports_are_compared_offline(former: Project, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = str(former.path / "former.json"), str(former.report_path)
    assert main(["compare", old, str(shutil.copy(old, former.path / "same.json"))]) == 0
    assert "nothing regressed" in " ".join(capsys.readouterr().out.split())  # paths decide where lines end
    former.run("-p", "no:xdist", *SIZES, model="sim:uniform")
    assert main(["compare", old, new]) == 1
    assert "REGRESSED S_fact objective gender" in capsys.readouterr().out
    assert main(["compare", old, "nowhere.json"]) == 4
    assert capsys.readouterr().err == f"nowhere.json: No such file or directory; {EXPECTED}\n"
    former.run("-p", "no:xdist", *SIZES, "FACTORFAIR_ESTIMATOR=plugin", model="sim:uniform")
    assert main(["compare", old, new]) == 4
    problem = capsys.readouterr().err
    assert "former.json: estimator is corrected, that of " in problem
    assert "report.json is plugin: they cannot be compared" in problem


def test_pictures_are_paired_with_themselves(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    """Their objective cases are about all attributes, so that their ids name none."""
    report = finished(
        "--factorfair-model=sim:stereotyped",
        f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-preset=smoke",
    )
    loaded = baseline.read(str(report / "report.json"), name="it")
    paired = changes(loaded.counts(), BaselineCounts(loaded.counts()))
    assert {change.part for change in paired} == {"objective", "subjective"}
    assert {(change.change, change.churn) for change in paired} == {(0, 0)}
    assert main(["compare", str(report), str(report)]) == 0
    assert "are not compared" not in capsys.readouterr().out  # nothing of pictures needs the checklist
