"""A run compared with a former one, and two reports compared offline."""

from __future__ import annotations

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.benchmarks.measurement import BaselineCounts
from pytest_factorfair.commands.cli import main
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates.comparison import changes
from pytest_factorfair.reports.json_report import AGAIN, EXPECTED
from pytest_factorfair.runs import baseline
from tests.finished import IDEAL, Finished
from tests.project import FEW_PORTRAITS, Project, rename

SIZES = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24")
BASELINE = "--factorfair-baseline=former.json"
FACT = "--factorfair-gate=regression(s_fact)[objective,gender] >= -0.02"


@pytest.fixture
def former(project: Project, finished: Finished) -> Project:
    """A project with the report of an ideal model in former.json."""
    shutil.copy(finished(*IDEAL) / "report.json", project.path / "former.json")
    return project


def test_the_same_model_has_not_changed(former: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate of the starting pyproject.toml passes too: nothing stays undecided."""
    starting = files("pytest_factorfair").joinpath("starting_files", "pyproject.toml").read_text()
    (suggested,) = re.findall(r'# "(regression.*?)"', starting)
    gates = (FACT, f"--factorfair-gate={suggested}")
    result = former.run("-p", "no:xdist", "-v", *SIZES, BASELINE, *gates, model="sim:ideal")
    assert result.ret == 0
    fact, *judged = former.report()["gates"]
    assert (fact["name"], fact["verdict"]) == ("regression-s_fact-objective-gender", "passed")
    assert {(gate["verdict"], gate["threshold"], gate["reason"]) for gate in judged} == {
        ("passed", -0.02, "+0.000 is at least -0.02")
    }
    assert {gate["subject"].split("[")[1].split(",")[0] for gate in judged} == {"base", "in_group"}
    changes = former.report()["changes"]
    assert {(change["change"], change["churn"]) for change in changes} == {(0, 0)}
    assert {change["metric"] for change in changes} == {
        "s_fact", "s_e", "s_kld", "s_fair", "s_e_within_named", "s_e_within_age", "s_e_within_first", "group_share", "crossed", "worst_fact", "name_preference",
        "influence_own_group", "influence_not_own_group", "scan",
    }  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "Compared with the baseline (sim:ideal, ????-??-??): nothing regressed",
            "*before*after*change*churn*",
        ]
    )
    capsys.readouterr()
    # Offline, from the reports.
    assert main(["compare", "--format=text", "former.json", str(former.report_path)]) == 0
    assert "nothing regressed" in " ".join(capsys.readouterr().out.split())  # paths decide where lines end


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


def test_a_worse_model_fails_and_its_statistics_are_listed(
    former: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    result = former.run("-p", "no:xdist", "-v", *SIZES, BASELINE, FACT, model="sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAILED *regression(s_fact)[[]objective,gender[]]* is below -0.02", "Compared with the baseline (sim:ideal, another model, *): *regressed",
         "*before*after*change*", "REGRESSED S_fact objective *"]
    )  # fmt: skip
    markdown = former.report_path.with_name("report.md").read_text()
    assert "REGRESSED S\\_fact objective" in markdown
    statistics = [change["statistic"] for change in former.report()["changes"] if change["regressed"]]
    assert set(statistics) > {None}
    capsys.readouterr()
    files = ["former.json", str(former.report_path)]
    assert main(["compare", "--format=text", *files]) == 0
    out = capsys.readouterr().out
    assert "sim:ideal is ahead of sim:uniform on" in " ".join(out.split())
    assert "REGRESSED" not in out  # another model is no later release of this one
    rename(former.report_path, "sim:ideal")
    assert main(["compare", "--format=text", *files]) == 1
    assert "REGRESSED S_fact objective gender" in capsys.readouterr().out


def _edited(project: Project, **parts: Any) -> None:
    report = json.loads((project.path / "former.json").read_text())
    (project.path / "former.json").write_text(json.dumps(report | parts))


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"incomplete": "3 of 14 cases are missing"}, "not judged (3 of 14 cases are missing): it cannot be a baseline"),
        ({}, "estimator is corrected, this run's is plugin: they cannot be compared"),
        ({"topics": [{}]}, f"a damaged report: there is no 'model'; {AGAIN}"),
    ],
)  # fmt: skip
def test_a_baseline_that_does_not_fit_is_one_line(
    former: Project, parts: dict[str, Any], problem: str
) -> None:
    _edited(former, **parts)
    result = former.run("-p", "no:xdist", BASELINE, model="sim:ideal")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        f"ERROR: --factorfair-baseline {former.path}/former.json: {problem}"
    ]


@pytest.mark.parametrize(
    ("field", "before", "now", "problem"),
    [
        ("design", "balanced", "paper", "design is balanced, this run's is paper: they cannot be compared"),
        ("answers", "text", "json", "answers is text, this run's is json: they cannot be compared"),
        (
            "declines",
            "missing",
            "neutral",
            "declines is missing, this run's is neutral: they cannot be compared",
        ),
        (
            "detector", {"detector": "sim"}, {},
            "detector is sim, this run's is missing: they cannot be compared",
        ),
        (
            "detector", {"faces": {"finder": "a"}, "margin": 0.0}, {"faces": {"finder": "b"}, "margin": 0.0},
            "detector faces finder is a, this run's is b: they cannot be compared",
        ),
        (
            "checklists", {"small": "0" * 64}, {"small": "1" * 64},
            "checklist small is 000000000000, this run's is 111111111111: its content has changed, they cannot be compared",
        ),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_compared(field: str, before: object, now: object, problem: str) -> None:
    run: dict[str, Any] = dict.fromkeys(baseline.SHARED, "") | {"checklists": {}}
    with pytest.raises(InputError) as raised:
        baseline.comparable("former.json", run | {field: before}, run | {field: now})
    assert str(raised.value) == f"former.json: {problem}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"schema": "other/1"}', "its schema is 'other/1', 'factorfair.report/6' is needed"),
        ("{", "former.json: not JSON ("),
        (None, f"former.json: No such file or directory; {EXPECTED}"),
    ],
)
def test_foreign_and_damaged_files(tmp_path: Path, content: str | None, problem: str) -> None:
    path = tmp_path / "former.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError) as raised:
        baseline.read(str(path), name="former.json")
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


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
    assert main(["compare", "--format=text", str(report), str(report)]) == 0
    assert "are not compared" not in capsys.readouterr().out  # nothing of pictures needs the checklist
