"""The reports of a run: report.json, report.md, JUnit, the CI job's page."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("model", ["sim:stereotyped", "sim:nonsense", "sim:refusing?rate=0.5"])
def test_the_report_follows_its_schema(project: Project, model: str) -> None:
    project.run("-p", "no:xdist", *GATES, model=model)
    jsonschema.validate(project.report(), json.loads(SCHEMA.read_text()))


def test_an_incomplete_report_says_so_and_follows_the_schema(project: Project) -> None:
    project.run("-p", "no:xdist", "-k", "tea_rate", *GATES)
    jsonschema.validate(project.report(), json.loads(SCHEMA.read_text()))
    assert project.report()["incomplete"] == "6 of 14 cases are missing: left out by -k 'tea_rate'"


def test_junit_has_a_testcase_per_gate(project: Project) -> None:
    project.run("-p", "no:xdist", *GATES, "--junitxml=junit.xml")
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


def test_markdown_is_fit_for_a_comment(project: Project) -> None:
    project.run("-p", "no:xdist", *GATES)
    text = (project.path / ".factorfair/report/report.md").read_text()
    assert text.startswith("<!-- pytest-factorfair -->\n")
    assert "| **FAILED** | `s_e[base,gender] >= 0.99` |" in text
    assert len(text.encode()) < 60_000


def test_a_hostile_model_name_is_shown_as_text(project: Project) -> None:
    project.write("conftest.py", "import pytest\n" + HOSTILE)
    project.run("-p", "no:xdist", "--factorfair-gate=s_fact[objective] >= 2%", model="<img src=x>|`[a](b):x")
    text = (project.path / ".factorfair/report/report.md").read_text()
    for line in text.splitlines()[1:]:
        assert "<img" not in line.replace("`<img src=x>\\|'[a](b):x`", "")


HOSTILE = """
from pytest_factorfair.domain import Response

class House:
    endpoint, parallel, identity = "house", None, {"provider": "house"}
    async def ask(self, request):
        return Response('{"answer": "A"}', notes=("<img src=x onerror=alert(1)> [a](http://b)",))
    async def close(self):
        pass

def pytest_factorfair_models():
    return {"<img src=x>|`[a](b):x": lambda spec: House()}
"""


def test_the_ci_jobs_page_gets_the_markdown(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "page.md"))
    project.write("page.md", "# before\n")
    project.run("-n2", *GATES)
    page = (project.path / "page.md").read_text()
    assert page == "# before\n" + (project.path / ".factorfair/report/report.md").read_text()


def test_a_report_folder_of_ones_own(project: Project) -> None:
    result = project.run("-p", "no:xdist", "--factorfair-report=out/here")
    assert (project.path / "out/here/report.json").exists()
    assert not project.report_path.exists()
    result.stdout.fnmatch_lines(["report: out/here/report.html; *"])


def test_the_next_step_names_a_folder_of_ones_own(project: Project) -> None:
    gate = "--factorfair-gate=s_e[base,gender] >= 0.99"
    result = project.run("-p", "no:xdist", "--factorfair-report=out/here", gate)
    result.stdout.fnmatch_lines(["Next: factorfair show *out/here subjective-tea_rate-*"])


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
    result.stdout.fnmatch_lines(["report: *GITHUB_STEP_SUMMARY /nowhere/page.md could not be written*"])


ACTING = """
from pytest_factorfair.domain import Response

class House:
    endpoint, parallel, identity = "house", None, {"provider": "house"}
    async def ask(self, request):
        return Response('{"answer": "A"}', notes=("told \\x1b]0;owned\\x07\\x9b2J\\u202e end",))
    async def close(self):
        pass

def pytest_factorfair_models():
    return {"house": lambda spec: House()}
"""


def test_nothing_printed_acts_on_the_terminal(project: Project) -> None:
    project.write("conftest.py", ACTING)
    output = project.run("-p", "no:xdist", "-v", model="house").stdout.str()
    assert "note: house: told ?]0;owned??2J? end" in output
    assert not set("\x1b\x07\x9b\u202e") & set(output)


FORGING = """
from pytest_factorfair.domain import Response

class House:
    endpoint, parallel, identity = "house", None, {"provider": "house"}
    async def ask(self, request):
        return Response('{"answer": "A"}', notes=("x\\n::error::owned", "##[error]owned"))
    async def close(self):
        pass

def pytest_factorfair_models():
    return {name: lambda spec: House() for name in ("::error::owned", "##[error]mine")}
"""


def test_annotations_on_github_and_nothing_that_forges_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("conftest.py", FORGING)
    arguments = (
        "-p",
        "no:xdist",
        "--factorfair-model=##[error]mine",
        "--factorfair-gate=s_fact[objective,gender] >= 0.9",
    )
    elsewhere = project.run(*arguments, model="::error::owned").outlines
    assert not [line for line in elsewhere if line.lstrip().startswith("::")]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = project.run(*arguments, model="::error::owned")
    assert result.ret == 1
    commands = [line for line in result.outlines if line.lstrip().startswith("::")]
    assert [line.partition(" title=")[0] for line in commands] == ["::error", "::error"]
    assert all("factorfair%3A s_fact[objective%2Cgender] >= 0.9::" in line for line in commands)
    start = next(number for number, line in enumerate(result.outlines) if "= factorfair: " in line)
    printed = [line for line in result.outlines[start:] if line not in commands]
    assert "owned" in "\n".join(printed)
    assert [line for line in printed if "##[" in line or line.lstrip().startswith("::")] == []
