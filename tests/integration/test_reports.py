"""The reports of a run: report.json, report.md, JUnit, the CI job's page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.project import CASES, Project

SCHEMA = Path(__file__).parents[2] / "checklists" / "schema" / "report.schema.json"
GATES = (
    "--factorfair-gate=s_e[base,gender] >= 0.99",
    "--factorfair-gate=s_fact[objective,gender] >= 0.9",
)


def test_reports_of_a_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """report.json follows its schema, JUnit has a test case per gate, and Markdown is fit for a comment."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "page.md"))
    project.write("page.md", "# before\n")
    project.run("-p", "no:xdist", *GATES, "--junitxml=junit.xml")
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text()))

    root = ET.parse(project.path / "junit.xml").getroot()  # noqa: S314  # written by pytest, just now
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert len(cases) == CASES + 2
    gate = cases["gate[s_e-base-gender]"]
    assert gate.get("classname") == "factorfair"
    properties = {node.get("name"): node.get("value") for node in gate.iter("property")}
    assert properties["threshold"] == "0.99"
    assert properties["verdict"] == "failed"
    failure = gate.find("failure")
    assert failure is not None
    assert "is below 0.99" in str(failure.get("message"))

    text = (project.path / ".factorfair/report/report.md").read_text()
    assert text.startswith("<!-- pytest-factorfair -->\n")
    assert "| **FAILED** | `s_e[base,gender] >= 0.99` |" in text
    assert len(text.encode()) < 60_000
    assert (project.path / "page.md").read_text() == "# before\n" + text


def test_lost_answers_are_in_the_denominators(project: Project) -> None:
    """Of a model that talks nonsense and of one that refuses; the report follows its schema."""
    refusing = "--factorfair-model=sim:refusing?rate=0.5"
    project.run("-p", "no:xdist", *GATES, refusing, "FACTORFAIR_FIRST_REPLIES=0", model="sim:nonsense")
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text()))
    for topic in project.report()["topics"]:
        total = sum(topic["counts"].values()) + topic["refused"] + topic["unparsed"] + topic["errors"]
        assert total == topic["asked"] == (4 if topic["part"] == "objective" else 24)


def test_an_incomplete_report_says_so_and_follows_the_schema(project: Project) -> None:
    project.run("-p", "no:xdist", "-k", "tea_rate", *GATES)
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text()))
    assert project.report()["incomplete"] == "6 of 14 cases are missing: left out by -k 'tea_rate'"


def test_a_report_folder_of_ones_own(project: Project) -> None:
    """The next step names it."""
    result = project.run("-p", "no:xdist", "--factorfair-report=out/here", GATES[0])
    assert (project.path / "out/here/report.json").exists()
    assert not project.report_path.exists()
    result.stdout.fnmatch_lines(
        ["report: out/here/report.html", "Next: factorfair show *out/here subjective-tea_rate-*"]
    )


def test_a_report_that_cannot_be_written_fails_the_run_in_one_line(project: Project) -> None:
    (project.path / ".factorfair/report/report.json").mkdir(parents=True)
    result = project.run("-p", "no:xdist")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["the reports could not be written: *"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_a_ci_page_that_cannot_be_written_fails_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/nowhere/page.md")
    result = project.run("-p", "no:xdist")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["report: *GITHUB_STEP_SUMMARY /nowhere/page.md could not be written*",
         "No gates were declared: this run reports, it does not judge."]
    )  # fmt: skip


HOSTILE = """
from pytest_factorfair.domain import Response

NOTES = (
    "<img src=x onerror=alert(1)> [a](http://b)", "told \\x1b]0;owned\\x07\\x9b2J\\u202e end", "x\\n::error::owned",
    "##[error]owned",
)

class House:
    endpoint, parallel, identity = "house", None, {"provider": "house"}
    async def ask(self, request):
        return Response('{"answer": "A"}', notes=NOTES)
    async def close(self):
        pass

def pytest_factorfair_models():
    return dict.fromkeys(("<img src=x>|`[a](b):x", "::error::owned", "##[error]mine"), lambda spec: House())
"""


def test_names_and_notes_of_models_are_shown_as_text(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Markdown, on a terminal, and on GitHub, where nothing forges an annotation."""
    project.write("conftest.py", HOSTILE)
    arguments = (
        "-p", "no:xdist", "-v", "--factorfair-model=##[error]mine", "--factorfair-model=<img src=x>|`[a](b):x",
        "--factorfair-gate=s_fact[objective,gender] >= 0.9",
    )  # fmt: skip
    elsewhere = project.run(*arguments, model="::error::owned")
    assert "told ?]0;owned??2J? end" in elsewhere.stdout.str()
    assert not set("\x1b\x07\x9b\u202e") & set(elsewhere.stdout.str())
    assert not [line for line in elsewhere.outlines if line.lstrip().startswith("::")]
    text = (project.path / ".factorfair/report/report.md").read_text()
    assert "<img" not in re.sub(r"`[^`\n]*`", "", text)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = project.run(*arguments, model="::error::owned")
    assert result.ret == 1
    commands = [line for line in result.outlines if line.lstrip().startswith("::")]
    assert [line.partition(" title=")[0] for line in commands] == ["::error"] * 3
    assert all("factorfair%3A s_fact[objective%2Cgender] >= 0.9::" in line for line in commands)
    start = next(number for number, line in enumerate(result.outlines) if "= factorfair: " in line)
    printed = [line for line in result.outlines[start:] if line not in commands]
    assert "owned" in "\n".join(printed)
    assert [line for line in printed if "##[" in line or line.lstrip().startswith("::")] == []
