"""Gates beside other plug-ins: they see ordinary reports, and their failures hide no verdict."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.project import CASES, Project

PLUGINS = Path(sys.prefix) / "plugins"
ACTIVE = (
    "--json-report", "--json-report-file=json.json", "--nunit-xml=nunit.xml", "--html=html.html",
    "--self-contained-html", "--alluredir=allure", "--report-log=log.jsonl", "--force-sugar", "--reruns=1",
    "--timeout=300", "--cov=house", "--cov-report=xml", "--junitxml=junit.xml",
)  # fmt: skip
BOUNDS = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24")
PASSED = "s_fact[objective,gender] >= 0.8"
FAILED = "s_fact[objective,gender] <= 0.5"
UNDECIDED = "s_e[base,gender] >= 0.9999"


@pytest.fixture
def crowd(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in whose runs the most used reporting plug-ins take part."""
    if not PLUGINS.is_dir():
        pytest.skip("the plug-ins are not installed: see tests/plugins.txt")
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    return project


def reported(project: Project) -> Iterator[Mapping[str, str]]:
    """The outcomes of gates as each plug-in has them that reports more than pytest's items."""
    written = json.loads((project.path / "json.json").read_text())
    yield {test["nodeid"]: test["outcome"] for test in written["tests"] if "gate" in test["nodeid"]}
    logged = map(json.loads, (project.path / "log.jsonl").read_text().splitlines())
    yield {
        event["nodeid"]: event["outcome"]
        for event in logged
        if event.get("when") == "call" and "gate" in event["nodeid"]
    }
    page = (project.path / "html.html").read_text()
    data = re.search(r'data-jsonblob="([^"]*)"', page)
    assert data is not None
    tests = json.loads(unescape(data[1]))["tests"]
    yield {nodeid: test["result"].lower() for nodeid, (test, *_) in tests.items() if "gate" in nodeid}
    junit = ET.parse(project.path / "junit.xml").getroot()  # noqa: S314  # written by pytest, just now
    kinds = {"failure": "failed", "skipped": "skipped"}
    yield {
        f"factorfair::{case.get('name')}": next((kinds[part.tag] for part in case if part.tag in kinds), "passed")
        for case in junit.iter("testcase")
        if case.get("classname") == "factorfair" and "gate" in str(case.get("name"))
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "gates", "ret"),
    [(["-n0", *BOUNDS, "FACTORFAIR_UNDECIDED=warn"], {PASSED: "passed", UNDECIDED: "skipped"}, 0),
     (["-n1"], {FAILED: "failed"}, 1)],
    ids=["pass and inconclusive", "fail in a worker"],
)  # fmt: skip
def test_gates_are_ordinary_tests_to_the_most_used_plugins(
    crowd: Project, arguments: list[str], gates: Mapping[str, str], ret: int
) -> None:
    gate_arguments = (f"--factorfair-gate={gate}" for gate in gates)
    result = crowd.run_apart(*arguments, *ACTIVE, *gate_arguments, model="sim:ideal")
    assert result.ret == ret, result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stdout.no_fnmatch_line("* raised *")
    expected = {
        f"factorfair::gate[{gate['name']}]": gates[gate["expression"]] for gate in crowd.report()["gates"]
    }
    assert sorted(expected.values()) == sorted(gates.values())
    assert all(outcomes == expected for outcomes in reported(crowd))
    nunit = ET.parse(crowd.path / "nunit.xml").getroot()  # noqa: S314  # written by pytest, just now
    assert nunit.get("total") == str(CASES + len(gates))
    assert nunit.get("failed") == str(int(FAILED in gates))
    assert len(list((crowd.path / "allure").glob("*-result.json"))) == CASES  # items only


RAISING = """
def pytest_factorfair_summary(config, summary): raise ValueError("no dashboard")

def pytest_runtest_logreport(report):
    if "gate[" in report.nodeid: raise KeyError(report.nodeid)

def pytest_runtest_logstart(nodeid):
    if "gate[" in nodeid: raise ValueError("no dashboard")
"""


def test_hooks_that_raise_hide_no_verdict(project: Project) -> None:
    project.write("conftest.py", RAISING)
    result = project.run(f"--factorfair-gate={PASSED}", "-p", "no:xdist", model="sim:ideal")
    assert result.ret == 1
    assert set(project.verdicts().values()) == {"passed"}
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(
        ["release: PASS: 1 gate passed; *",
         "pytest_runtest_logstart of *conftest.py, line 8, raised ValueError: no dashboard",
         "pytest_runtest_logreport of *conftest.py, line 5, raised KeyError: 'factorfair::gate[[]s_fact-*",
         "pytest_factorfair_summary of *conftest.py, line 2, raised ValueError: no dashboard"]
    )  # fmt: skip


@pytest.mark.parametrize("hook", ["pytest_sessionfinish", "pytest_terminal_summary"])
def test_the_verdict_is_printed_where_pytest_has_no_summary(project: Project, hook: str) -> None:
    project.write("conftest.py", f"def {hook}(): raise ValueError('no dashboard')\n")
    result = project.run_apart(f"--factorfair-gate={FAILED}", "-p", "no:xdist", model="sim:ideal")
    assert result.ret == 1
    assert result.stdout.str().count("release: FAIL: 1 of 1 gate failed") == 1
    assert project.report_path.exists()


def test_a_plugin_that_fails_on_a_report_fails_the_run(project: Project) -> None:
    project.write("conftest.py", "def pytest_runtest_logreport(report): raise ValueError('no dashboard')\n")
    result = project.run(f"--factorfair-gate={FAILED}", "-p", "no:xdist", model="sim:ideal")
    assert result.ret == 3
    result.stdout.fnmatch_lines(
        ["Do not ship it yet: the run was interrupted: 14 of 14 cases are missing.", "Next: run it again *"]
    )
