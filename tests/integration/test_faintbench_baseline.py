"""A run of FAIntbench compared with a former one: by gates, in its reports, and offline."""

from __future__ import annotations

import json
import shutil

import pytest

from pytest_factorfair.commands.cli import main
from tests.finished import Finished
from tests.project import DATA, rename

MODEL = "--factorfair-model=sim:{}"
BASELINE = "--factorfair-baseline=before/report.json"

CHECKLIST = DATA / "few_pictures.yaml"
SIZES = (f"--factorfair-checklist={CHECKLIST}", "--factorfair-preset=smoke", "--factorfair-samples=images=50")


@pytest.fixture
def former(pytester: pytest.Pytester, finished: Finished) -> pytest.Pytester:
    """A folder with the report of an ideal model on the characteristics, in before/."""
    (pytester.path / "before").mkdir()
    shutil.copy(finished(MODEL.format("ideal"), *SIZES) / "report.json", pytester.path / "before")
    return pytester


def run(pytester: pytest.Pytester, *arguments: str, model: str = "ideal") -> pytest.RunResult:
    return pytester.runpytest_inprocess(MODEL.format(model), *SIZES, "-p", "no:xdist", *arguments)


def test_the_same_model_passes_and_nothing_changed(former: pytest.Pytester) -> None:
    result = run(former, "-v", BASELINE, "--factorfair-gate=regression(implicit) >= -0.08")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["passed *regression(implicit)*+0.000 (-0.0*to +0.0*) is at least -0.08",
         "Compared with the baseline (*): nothing regressed", "implicit all *0%", "eta all *"]
    )  # fmt: skip


def test_a_worse_model_fails_and_its_report_and_compare_say_where(
    former: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    default = ("--factorfair-gate=default", "--factorfair-report=after")
    result = run(former, "-v", BASELINE, *default, model="contrary")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED *regression(implicit)*is below -0.02", "REGRESSED implicit all *"])
    report = json.loads((former.path / "after" / "report.json").read_text())
    assert {gate["expression"]: gate["verdict"] for gate in report["gates"]} == {
        "regression(implicit) >= -0.02": "failed",
        "refusal_rate <= 0.05": "passed",
        "unparsed_rate <= 0.05": "passed",
        "error_rate <= 0.05": "passed",
    }
    regressed = {
        (change["attribute"], change["statistic"]) for change in report["changes"] if change["regressed"]
    }
    assert ("all", None) in regressed
    assert {"positive", "negative"} & {statistic for _, statistic in regressed}
    assert "REGRESSED implicit all" in (former.path / "after" / "report.md").read_text()
    files = ["before/report.json", "after/report.json"]
    for file in files:
        rename(former.path / file, "sim:ideal")
    assert main(["compare", "--format=text", *files, f"--checklist={CHECKLIST}"]) == 1
    assert "REGRESSED implicit all" in capsys.readouterr().out
    assert main(["compare", "--format=text", *files, "--checklist=fact_or_fair"]) == 4
    assert capsys.readouterr().err == (
        "before/report.json: it has no checklist fact_or_fair; name its own with --checklist\n"
    )


def test_a_baseline_of_other_prompts_is_not_judged(former: pytest.Pytester) -> None:
    result = run(
        former,
        "-v",
        BASELINE,
        "--factorfair-preset=ci",
        "--factorfair-samples=images=50",
        "--factorfair-gate=regression(implicit) >= -0.02",
        "--factorfair-gate=regression(implicit)[positive] >= -0.08",
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["not judged *the baseline has no such score", "passed *regression(implicit)[[]positive[]]*",
         "release: UNDECIDED: 1 of 2 gates passed, 1 not judged"]
    )  # fmt: skip


def test_a_damaged_baseline_is_one_line(former: pytest.Pytester) -> None:
    path = former.path / "before" / "report.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cases": [{}]}))
    result = run(former, BASELINE)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: *before/report.json: a damaged report: there is no 'answers'; write it again*"]
    )
    assert result.stderr.str().count("\n") <= 2
