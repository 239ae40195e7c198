"""Answers that were paid for once are not asked for again."""

from __future__ import annotations

import json

import pytest

from pytest_factorfair.store import Store
from tests.project import Project, comparable, program
from tests.servers import StubServer

COUNTING = """
def respond(prompt):
    with open("calls", "a") as file:
        file.write("x")
    return '{"answer": "B"}'
"""
OWN = "python:house:respond"
ANSWERS = 6 * 4 + 4 * 2 * 24


def calls(project: Project) -> int:
    path = project.path / "calls"
    return len(path.read_text()) if path.exists() else 0


def house(project: Project) -> None:
    project.write("house.py", COUNTING)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")


def test_a_second_run_asks_nothing(project: Project) -> None:
    """The header says what is stored; another seed is asked again, and so is all without reuse."""
    house(project)
    for number, seed in enumerate((0, 1), 1):
        project.run("-p", "no:xdist", "-k", "objective", f"--factorfair-seed={seed}", model=OWN)
        assert calls(project) == number * 24
    result = project.run("-p", "no:xdist", model=OWN)
    lines = (f"14 cases, {ANSWERS} answers planned", "24 in the store, 192 to ask, estimated cost unknown")
    result.stdout.fnmatch_lines([f"factorfair: {line}" for line in lines], consecutive=True)
    assert calls(project) == ANSWERS + 24
    earlier = project.report()
    assert earlier["usage"]["calls"] == 192
    again = project.run("-p", "no:xdist", model=OWN)
    again.stdout.fnmatch_lines([f"*{ANSWERS} in the store, 0 to ask, estimated cost $0.00"])
    assert calls(project) == ANSWERS + 24
    later = project.report()
    assert comparable(earlier) == comparable(later)
    assert later["usage"] | {"seconds": 0} == {
        "calls": 0, "cached": ANSWERS, "tokens_in": 0, "tokens_out": 0, "cost": 0.0, "seconds": 0,
        "throttled": 0, "waited": 0.0, "shards": 0, "in_shards": 0, "estimated": 0,
        "tokens_reasoning": 0, "completed": 0, "batched": 0, "unreadable": 0, "batch_cost": 0.0,
        "retries": 0,
    }  # fmt: skip
    project.run("-p", "no:xdist", "--factorfair-reuse=none", model=OWN)
    assert calls(project) == 2 * ANSWERS + 24
    assert project.count("responses") == ANSWERS + 24


def test_with_nothing_to_replay_no_case_is_run(project: Project) -> None:
    """Neither where there is no store, nor in one that nothing was put into."""
    for message in ("no such response store", "holds no answer"):
        result = project.run("-p", "no:xdist", "--factorfair-reuse=only", model="sim:uniform")
        assert result.ret == 4
        (line,) = [line for line in result.errlines if line]
        assert message in line
        assert line.endswith("run once without reuse=only")
        Store.open(f"sqlite:///{project.path}/.factorfair/responses.sqlite").close()


def test_filtered_answers_are_counted_and_never_asked_again(project: Project, stub: StubServer) -> None:
    """Asked again by every run, they would turn into a pass one by one."""
    stub.script(filters=0.3)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    options = ("-pno:xdist", url, "--factorfair-gate=refusal_rate <= 0.2", "FACTORFAIR_LOOKS=1")
    reports = []
    for _ in range(2):
        project.run(*options, model="hosted_vllm/m")
        reports.append(project.report())
        assert stub.stats()["requests"] == ANSWERS
    replies = project.report_path.with_name("responses.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [(reply["outcome"], reply.get("reason", "")) for reply in map(json.loads, replies)]
    assert len(answers) == ANSWERS
    assert set(answers) == {("answered", ""), ("refused", "filtered by the provider")}
    assert 0.2 * ANSWERS < sum(outcome == "refused" for outcome, _ in answers) < 0.4 * ANSWERS
    first, second = ([gate["verdict"] for gate in report["gates"]] for report in reports)
    assert "failed" in first
    assert second == first


def test_a_replay_asks_nothing_and_opens_no_connection(project: Project) -> None:
    house(project)
    project.run("-p", "no:xdist", "-k", "tea_rate-gender", model="sim:uniform")
    replay = ("-p", "no:xdist", "--factorfair-reuse=only")
    result = project.run(*replay, "--factorfair-gate=refusal_rate <= 0.5", model=OWN)
    assert calls(project) == 0
    result.assert_outcomes(failed=14 + 1, skipped=6)  # the release is not green without an answer
    result.stdout.fnmatch_lines(
        [
            "4 of 4 answers could not be obtained: not in the store",
            "Try: run once without --factorfair-reuse=only: only what is missing is asked",
        ]
    )
    project.write("conftest.py", program("no_sockets"))
    url = "--factorfair-model-arg=base_url=http://127.0.0.1:9/v1"
    result = project.run(*replay, url, model="hosted_vllm/some-model")
    result.assert_outcomes(failed=14)
    assert "a socket was opened" not in result.stdout.str()


def test_a_replay_needs_no_key(project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request from a fork has no secrets, and asks nothing."""
    arguments = (
        "--factorfair-model-arg=api_key_env=LAB_KEY",
        f"--factorfair-model-arg=base_url={stub.base_url}",
    )
    monkeypatch.setenv("LAB_KEY", "k")
    project.run("-p", "no:xdist", *arguments, model="m")
    asked = project.report()
    requests = stub.stats()["requests"]
    monkeypatch.delenv("LAB_KEY")
    assert project.run("-p", "no:xdist", *arguments, model="m").ret == 4
    assert project.run("-p", "no:xdist", *arguments, "--factorfair-reuse=only", model="m").ret == 0
    assert comparable(project.report()) == comparable(asked)
    assert stub.stats()["requests"] == requests
