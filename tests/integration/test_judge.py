"""``factorfair judge``: other gates on a report's answers, with the verdicts of a run from the store."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_factorfair.commands.cli import main
from tests.extras import needs
from tests.project import DATA, FEW, PLUGIN, Project, comparable, report_of
from tests.unit.benchmarks.dofair import files as scenes
from tests.unit.benchmarks.items import files as items


class Recorded(NamedTuple):
    """What a run of two models asks, and the gates that judge it afterwards: some pass, and some do not."""

    options: tuple[str, ...]
    gates: tuple[str, ...]
    make: Callable[[Project], object] = lambda _project: None


STEREOTYPED = "sim:stereotyped?strength=0.9"


def made_of_scenes(project: Project) -> None:
    scenes.repository(project.path)
    assert main(["import", "dofair", str(project.path), "--any-version", "-o", "made.yaml"]) == 0


def mixed(project: Project) -> None:
    project.write("mixed.yaml", items.checklist())


RECORDED = {
    "fact_or_fair": Recorded(
        (f"--factorfair-checklist={FEW}", "FACTORFAIR_LOOKS=1"),
        ("default", "s_e[base,gender] >= 0.99", "position <= 0.05"),
    ),
    "items": Recorded(
        ("--factorfair-checklist=mixed.yaml", "--factorfair-samples=repeats=20"),
        ("default", "bias_ambiguous <= 0.1", "accuracy[fact] >= 0.9"),
        mixed,
    ),
    "faintbench": Recorded(
        (
            "--factorfair-checklist=faintbench",
            "--factorfair-preset=smoke",
            "--factorfair-samples=images=4",
            PLUGIN,
        ),
        ("implicit[gender,characteristic] >= 0.99", "refusal_rate <= 0.05"),
    ),
    "dofair": Recorded(
        ("--factorfair-checklist=made.yaml", "--factorfair-samples=images=1", PLUGIN),
        ("involved_accuracy >= 0.99", "diversity_gap >= -0.2", "refusal_rate <= 0.05"),
        made_of_scenes,
    ),
}


def gated(gates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"--gate={gate}" for gate in gates)


def judged(path: Path) -> dict[str, Any]:
    return report_of(path / "report.json")


@needs("images")
@pytest.mark.parametrize("benchmark", RECORDED)
def test_verdicts_are_those_of_a_run_from_the_store(
    project: Project, monkeypatch: pytest.MonkeyPatch, benchmark: str
) -> None:
    """So is all else of the report, but for the sheets of pictures, which only the store has."""
    options, gates, make = RECORDED[benchmark]
    monkeypatch.chdir(project.path)
    make(project)
    run = ("-p", "no:xdist", "--factorfair-model=sim:ideal", f"--factorfair-model={STEREOTYPED}", *options)
    assert project.run_pytest(*run).ret == 0
    shutil.copytree(project.report_path.parent, "recorded")
    again = project.run_pytest(
        *run,
        "--factorfair-reuse=only",
        "--factorfair-report=recorded/judged",
        *(f"--factorfair-gate={gate}" for gate in gates),
    )
    expected = judged(Path("recorded/judged"))
    shutil.rmtree("recorded/judged")
    assert {"passed", "failed"} <= {gate["verdict"] for gate in expected["gates"]}
    shutil.rmtree(".factorfair")

    assert main(["judge", "recorded", *gated(gates)]) == again.ret == 1
    report = judged(Path("recorded/judged"))
    for row in (report, expected):
        row["contact_sheets"] = []
        row["notes"] = [note for note in row["notes"] if not note.startswith("judged from the report of")]
    assert comparable(report) == comparable(expected)
    assert report["usage"]["calls"] == report["usage"]["cached"] == 0
    assert report["fingerprint"]["times"]["first_answer"] <= report["fingerprint"]["times"]["started"]
    replies, former_replies = (
        [json.loads(line) for line in (folder / "responses.jsonl").read_text(encoding="utf-8").splitlines()]
        for folder in (Path("recorded/judged"), Path("recorded"))
    )
    assert replies == former_replies
    assert main(["evidence", "recorded/judged", "-o", "evidence"]) == 0


LOOKING = (
    "-p",
    "no:xdist",
    "FACTORFAIR_ESTIMATOR=corrected",
    "FACTORFAIR_LOOKS=4",
    "--factorfair-samples=96",
)
CLOSE = "s_e[base,gender] >= 0.9705"  # that of a stereotype of strength .2


def test_further_looks_are_taken_from_the_report(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that was undecided is judged as then; another one, whose answers are not there, stays undecided."""
    monkeypatch.chdir(project.path)
    done = project.run(*LOOKING, f"--factorfair-gate={CLOSE}", model="sim:stereotyped?strength=0.2")
    expected = project.report()
    assert main(["judge", ".factorfair/report", "--gate", CLOSE]) == done.ret
    report = judged(Path(".factorfair/report/judged"))
    assert report["gates"] == expected["gates"]
    assert report["cases"] == expected["cases"]

    assert main(["judge", ".factorfair/report", "--gate", "s_fact[base,race] >= 0.25", "-o", "other"]) == 1
    other = judged(Path("other"))
    assert other["release"]["word"] == "UNDECIDED"
    assert "the report has no answers for another look" in other["release"]["advice"]


BASELINE = "s_fact[objective,gender] >= 0.8"


@pytest.fixture
def recorded(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    monkeypatch.chdir(project.path)
    project.run("-p", "no:xdist")
    shutil.rmtree(project.path / ".factorfair" / "images", ignore_errors=True)
    (project.path / ".factorfair" / "responses.sqlite").unlink()
    capsys.readouterr()
    return project


def test_the_terminal_ends_with_the_verdict(recorded: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Waivers, and what an undecided release does, are those of pyproject.toml, as in a run."""
    passing, failing = "s_fact[objective,gender] >= 0.5", "s_e[base,gender] >= 0.9"
    assert main(["judge", ".factorfair/report", "--gate", passing]) == 0
    assert "release: PASS: " in capsys.readouterr().out
    assert main(["judge", ".factorfair/report", "--gate", failing]) == 1
    printed = capsys.readouterr().out
    assert "= factorfair: sim:stereotyped =" in printed
    assert "release: FAIL: " in printed
    assert "Next: factorfair show .factorfair/report/judged " in printed
    waiver = f'{{gate = "{failing}", reason = "known", until = 2999-12-31, floor = 0.01}}'
    recorded.write("pyproject.toml", f'[tool.factorfair]\ngate = ["{failing}"]\nwaivers = [{waiver}]\n')
    assert main(["judge", ".factorfair/report"]) == 0
    assert "release: PASS WITH WAIVERS" in capsys.readouterr().out


def test_a_partial_report_is_not_judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    project.run("-p", "no:xdist", "-k", "objective")
    assert main(["judge", ".factorfair/report", "--gate=s_fact >= 0.5"]) == 1
    report = judged(Path(".factorfair/report/judged"))
    assert report["release"]["counts"] == "0 of 2 gates passed, 2 not judged"
    assert report["incomplete"].startswith("8 of 14 cases are missing: ")
    assert report["release"]["next_step"] == "judge the report of a run of all cases"


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no gate to judge it by; give --gate, such as --gate=default"),
        (("--gate=s_fcat >= 0.5",), "gate 's_fcat >= 0.5': unknown metric 's_fcat'; did you mean 's_fact'?"),
        (("--gate=s_fact[objektive] >= 0.5",), "unknown filter 'objektive'; did you mean 'objective'?"),
        (("--gate=regression(s_fact) >= -0.1",), "a regression needs a former report"),
        (("--gate=s_fact >= 0.5", "--checklist=fact_or_fair"), "checklist fact_or_fair is not in it"),
    ],
)
def test_wrong_words_are_refused_as_in_a_run(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["judge", ".factorfair/report", *arguments]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not Path(".factorfair/report/judged").exists()


def test_sizes_that_cannot_judge_are_refused_as_in_a_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    project.run_pytest("-p", "no:xdist", "--factorfair-model=sim:ideal", "--factorfair-preset=smoke",
                       "--factorfair-checklist=small.yaml")  # fmt: skip
    capsys.readouterr()
    assert main(["judge", ".factorfair/report", "--gate=default"]) == 4
    expected = "preset smoke asks too little to judge a gate; run pytest with preset ci"
    assert expected in capsys.readouterr().err
    project.run("-p", "no:xdist", "FACTORFAIR_ESTIMATOR=corrected")
    capsys.readouterr()
    assert main(["judge", ".factorfair/report", "--gate=default"]) == 4
    assert "more gates need more answers: run pytest with --factorfair-samples=" in capsys.readouterr().err
    project.write("small.yaml", (DATA / "small.yaml").read_text(encoding="utf-8").replace("tea", "coffee"))
    assert main(["judge", ".factorfair/report", "--gate=s_fact >= 0.5"]) == 4
    assert "its content has changed, its answers cannot be judged" in capsys.readouterr().err


def test_a_report_alone_is_enough(recorded: Project) -> None:
    """Compressed, in another folder, and without its replies, which only lack in what is quoted."""
    lone = recorded.path / "lone" / "report.json.gz"
    lone.parent.mkdir()
    lone.write_bytes(gzip.compress(recorded.report_path.read_bytes()))
    assert main(["judge", str(lone), "--gate", BASELINE, "--baseline", str(lone), "-o", "alone"]) == 0
    assert (
        main(["judge", ".factorfair/report", "--gate", BASELINE, "--baseline", str(lone), "-o", "whole"]) == 0
    )
    assert judged(Path("alone"))["gates"] == judged(Path("whole"))["gates"]
    assert judged(Path("alone"))["changes"]
