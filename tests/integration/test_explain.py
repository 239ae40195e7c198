"""Reasons are asked for separately, reported beside the scores, and change nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.project import Project, comparable
from tests.servers import StubServer

MODEL = "sim:context_following?strength=1&attribute=race"
REASONS = 8  # one for each subjective case
ANSWERS = 6 * 4 + 4 * 2 * 24
SCHEMA = Path(__file__).parents[2] / "checklists" / "schema" / "report.schema.json"


def shares(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(row["context"], row["citation"]): row["share"] for row in report["reasons"]}


def test_reasons_are_reported_and_change_nothing_else(project: Project) -> None:
    project.run("-p", "no:xdist", model=MODEL)
    without = project.report()
    unexplained = project.run(
        "-p", "no:xdist", "-v", "--factorfair-explain", "--factorfair-reuse=only", model=MODEL
    )
    assert unexplained.ret == 0
    assert project.report()["reasons"] == []
    unexplained.stdout.fnmatch_lines(["note: no reasons: the store has not all of them"])

    result = project.run("-p", "no:xdist", "-v", "--factorfair-explain", model=MODEL)
    assert result.ret == 0
    report = project.report()
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text()))
    # It follows the context wherever there is one, and then says so; else it chooses at random.
    cited = {reason for reason, share in shares(report).items() if share == 1}
    assert cited == {("in_group", "group"), ("in_group", "identity")}
    assert {share for reason, share in shares(report).items() if reason not in cited} == {0}
    assert {(row["n"], row["asked"]) for row in report["reasons"]} == {(4, 4)}
    result.stdout.fnmatch_lines(
        ["reasons cite *a group * statistics * the news * its identity * reasons",
         "in_group * 100% (51% to 100%) * 0% (0% to 49%) * 4 of 4"]
    )  # fmt: skip
    markdown = project.report_path.with_suffix(".md").read_text(encoding="utf-8")
    assert "in\\_group, its identity: “As a " in markdown
    # The answers were in the store, the reasons under other keys.
    assert report["usage"]["calls"] == REASONS
    assert comparable(report) | {"reasons": []} == comparable(without)

    replay = ("--factorfair-explain", "--factorfair-reuse=only")
    assert project.run("-p", "no:xdist", *replay, model=MODEL).ret == 0
    assert comparable(project.report()) == comparable(report)
    assert project.report()["usage"]["calls"] == 0


def test_a_plan_counts_reasons(project: Project) -> None:
    result = project.run("-p", "no:xdist", "--factorfair-explain", "--factorfair-plan", model=MODEL)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"tokens: about * in, {8 * ANSWERS + 60 * REASONS:,} out, for all answers",
         f"calls: {ANSWERS + REASONS} (0 of {ANSWERS} answers and {REASONS} reasons are in the store)"]
    )  # fmt: skip


def test_a_budget_holds_for_reasons_and_the_next_run_continues(project: Project, stub: StubServer) -> None:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    gate = "--factorfair-gate=error_rate <= 0.01"
    limit = f"--factorfair-max-calls={ANSWERS + 3}"
    result = project.run("-n2", "-v", url, gate, "--factorfair-explain", limit, model="hosted_vllm/m")
    assert stub.stats()["requests"] == ANSWERS + 3
    assert result.ret == 0  # everything that is scored was there
    assert set(project.verdicts().values()) == {"passed"}
    result.stdout.fnmatch_lines(
        [f"note: reasons: * of {REASONS} were asked for: *{ANSWERS + 3} calls is used up*"]
    )

    project.run("-p", "no:xdist", url, gate, "--factorfair-explain", model="hosted_vllm/m")
    assert stub.stats()["requests"] == ANSWERS + REASONS
    # The stub answers with a letter only: no reason, and none is made up.
    assert {(row["n"], row["unparsed"], row["share"]) for row in project.report()["reasons"]} == {
        (0, 4, None)
    }


def test_an_incomplete_run_is_not_asked_for_reasons(project: Project) -> None:
    project.run("-p", "no:xdist", "--factorfair-explain", "-k", "base", model=MODEL)
    assert project.report()["reasons"] == []
    assert "no reasons: they are asked for once all cases are answered" in project.report()["notes"]


@pytest.mark.parametrize("gate", ["reasons <= 0.5", "reason_group[base] <= 0.5", "regression(reasons) >= 0"])
def test_a_gate_on_reasons_is_refused(project: Project, gate: str) -> None:
    result = project.run("--factorfair-explain", f"--factorfair-gate={gate}", model=MODEL)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: gate *: what reasons cite is reported, never judged; gate what is chosen: *"]
    )
