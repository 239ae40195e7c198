"""``factorfair bless``: which reports become a baseline, and what the command prints."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.reports import json_report
from tests.finished import IDEAL, Finished
from tests.project import Project

Edit = Callable[[dict[str, Any]], None]

SIZES = ("-p", "no:xdist", "FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24")
REPORT = ".factorfair/report/report.json"


@pytest.fixture
def ran(project: Project, finished: Finished, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the report of an ideal model and a gate it keeps."""
    monkeypatch.chdir(project.path)
    shutil.copytree(finished(*IDEAL), project.report_path.parent)
    return project


EDITS: dict[str, Edit] = {
    "a value": lambda report: report["scores"][0].update(value=0.5),
    "a reason": lambda report: report["gates"][0].update(reason="1.000 is at least 0.80"),
    "a release": lambda report: report["release"].update(word="PASS", counts="all 9 gates passed"),
    "no number": lambda report: report["scores"][0].update(value=float("nan")),
    "an infinite number": lambda report: report["scores"][0].update(low=float("-inf")),
    "an absurd number": lambda report: report["scores"][0].update(value=1e308),
    "an absurd whole number": lambda report: report["scores"][0].update(n=10**400),
}


@pytest.mark.parametrize("case", EDITS)
def test_an_edited_report_is_refused_as_evidence_refuses_it(
    ran: Project, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """In one line, and so does what shows numbers, if they cannot be those of a report."""
    report = ran.report()
    EDITS[case](report)
    ran.report_path.write_text(json.dumps(report))
    commands = [["evidence", REPORT, "-o", "evidence"], ["bless"]]
    if "number" in case:
        commands += [["card", REPORT], ["export", "paper", REPORT, "--tables"], ["compare", REPORT, REPORT]]
    messages = set()
    for command in commands:
        assert main(command) == 4, command
        messages.add(capsys.readouterr().err)
    (message,) = messages
    assert message.count("\n") == 1
    assert message.startswith(f"{REPORT}: ")


def edit(project: Project, **parts: Any) -> None:
    project.report_path.write_text(json.dumps(project.report() | parts))


def test_the_baseline_is_the_report_packed_and_a_run_takes_it(
    ran: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """What got worse is reported before it is blessed in turn."""
    assert main(["bless"]) == 0
    packed = ran.path / "factorfair-baseline.json.gz"
    assert gzip.decompress(packed.read_bytes()) == ran.report_path.read_bytes()
    assert packed.stat().st_size < ran.report_path.stat().st_size / 5
    assert json_report.read(str(packed), name="packed") == json_report.read(REPORT, name="plain")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{REPORT} is now the baseline factorfair-baseline.json.gz (")
    assert (
        lines[1]
        == 'and name it in pyproject.toml: [tool.factorfair] baseline = "factorfair-baseline.json.gz"'
    )
    ran.write("pyproject.toml", '[tool.factorfair]\nbaseline = "factorfair-baseline.json.gz"\n')
    result = ran.run(*SIZES, "--factorfair-gate=regression(s_fact) >= -0.02", model="sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Compared with the baseline (sim:ideal, another model, *): *regressed"])
    capsys.readouterr()
    assert main(["bless", "--despite-failures"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("Compared with the baseline: ")
    assert "\nREGRESSED S_fact objective gender " in output
    assert output.index("REGRESSED") < output.index("is now the baseline")


def test_the_same_report_gives_the_same_file_and_nothing_regressed(
    ran: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["bless", "--to", "base.json"])
    main(["bless", "--to", "base.json.gz"])
    written = (ran.path / "base.json.gz").read_bytes()
    assert (ran.path / "base.json").read_bytes() == ran.report_path.read_bytes()
    capsys.readouterr()
    assert main(["bless", REPORT, "--to", "base.json.gz"]) == 0
    assert "Compared with the baseline: nothing regressed" in capsys.readouterr().out
    assert (ran.path / "base.json.gz").read_bytes() == written
    assert main(["compare", "--format=text", "base.json.gz", REPORT]) == 0


def test_places_are_those_of_pyproject(ran: Project) -> None:
    ran.write("pyproject.toml", '[tool.factorfair]\nbaseline = "kept/base.json"\nreport = "out"\n')
    (ran.path / "kept").mkdir()
    shutil.copytree(ran.report_path.parent, ran.path / "out")
    ran.report_path.unlink()
    assert main(["bless"]) == 0
    assert (ran.path / "kept/base.json").read_bytes() == (ran.path / "out/report.json").read_bytes()


def test_a_former_baseline_that_cannot_be_compared_is_replaced(
    ran: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ran.written_report()
    former = report | {"fingerprint": report["fingerprint"] | {"estimator": "plugin"}}
    ran.write("base.json", json.dumps(former))
    assert main(["bless", "--to", "base.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("not compared with the previous baseline: base.json: estimator is plugin, ")
    assert json.loads((ran.path / "base.json").read_text()) == report


def test_incomplete_and_failed_reports_are_refused(ran: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran.run(*SIZES, "--factorfair-gate=s_fact[objective,gender] >= 0.8", model="sim:uniform").ret == 1
    capsys.readouterr()
    assert main(["bless"]) == 4
    assert capsys.readouterr().err == (
        f"{REPORT}: failed s_fact[objective,gender] >= 0.8; to bless it anyway: --despite-failures\n"
    )
    assert not (ran.path / "factorfair-baseline.json.gz").exists()
    assert main(["bless", "--despite-failures"]) == 0
    (ran.path / "factorfair-baseline.json.gz").unlink()
    edit(ran, incomplete="3 of 14 cases are missing")
    assert main(["bless", "--despite-failures"]) == 4
    assert "not judged (3 of 14 cases are missing): it cannot be a baseline" in capsys.readouterr().err
    assert not (ran.path / "factorfair-baseline.json.gz").exists()


def test_missing_and_damaged_files(ran: Project, capsys: pytest.CaptureFixture[str]) -> None:
    def problem(*argv: str) -> str:
        capsys.readouterr()
        assert main(["bless", *argv]) == 4
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        return message

    assert problem("none.json") == f"none.json: No such file or directory; {json_report.EXPECTED}\n"
    assert "small.yaml/base.json: cannot be written: " in problem("--to", "small.yaml/base.json")
    assert problem("--to", ".") == ".: a folder; name a file in it\n"
    main(["bless", "--to", "base.json.gz"])
    packed = (ran.path / "base.json.gz").read_bytes()
    for damaged in (packed[:5000], packed[:100] + b"\xff" * 300 + packed[400:], b"\x1f\x8b"):
        Path("damaged.json.gz").write_bytes(damaged)
        assert "damaged.json.gz: " in problem("damaged.json.gz")
    ran.write("pyproject.toml", "[tool.factorfair]\nbase = 1\n")
    assert "unknown key 'base'" in problem()
