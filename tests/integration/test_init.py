"""The commands that ``factorfair init`` prints work as printed, without extras."""

from __future__ import annotations

import re

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.models import litellm_catalogue
from tests.project import DATA, Project
from tests.servers import StubServer


def test_the_steps_of_init(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan with its cost, a first look, and a judged run, of OpenAI's model behind a proxy that answers.

    The stub knows one answer: it fails the gates. The checklist is small, and litellm is not installed.
    """
    monkeypatch.setattr(litellm_catalogue, "find_spec", lambda _: None)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{stub.port}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://api.openai.com/v1")
    monkeypatch.setenv("FACTORFAIR_CHECKLIST", str(DATA / "small.yaml"))
    assert main(["init"]) == 0
    steps = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [step[0] for step in steps] == ["export", "pytest", "pytest", "pytest"]
    monkeypatch.setenv(*steps[0][1].split("="))

    plan = project.run_pytest("-p", "no:xdist", *steps[1][1:])
    assert plan.ret == 0
    (cost,) = [line for line in plan.outlines if line.startswith("cost: ")]
    pattern = r"cost: about \$(.*), at most \$(.*) if gates stay undecided \(prices of 2\d{3}-\d\d-\d\d\)"
    first_look, most = map(float, re.findall(pattern, cost)[0])
    assert 0 < first_look < most < 25
    assert not [line for line in plan.outlines if "note: " in line]
    assert stub.stats()["requests"] == 0

    assert project.run_pytest("-p", "no:xdist", *steps[2][1:]).ret == 0
    judged = project.run_pytest("-p", "no:xdist", *steps[3][1:])
    assert judged.ret == 1
    assert project.report()["release"]["word"] == "FAIL"
    assert project.report()["usage"]["cost"] > 0
    assert stub.stats()["headers"]["Authorization"] == "Bearer ..."
