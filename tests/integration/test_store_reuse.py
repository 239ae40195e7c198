"""Answers that were paid for once are not asked for again."""

from __future__ import annotations

import json
import sqlite3

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
ANSWERS = 6 * 4 + 4 * 2 * 24


def calls(project: Project) -> int:
    path = project.path / "calls"
    return len(path.read_text()) if path.exists() else 0


def house(project: Project) -> Project:
    project.write("house.py", COUNTING)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    return project


def run(project: Project, *arguments: str) -> dict[str, object]:
    project.run(*arguments, model="python:house:respond")
    return project.report()


def test_a_second_run_asks_nothing(project: Project, dist: tuple[str, ...]) -> None:
    earlier = run(house(project), *dist)
    assert calls(project) == ANSWERS
    later = run(project, *dist)
    assert calls(project) == ANSWERS
    assert comparable(earlier) == comparable(later)
    assert earlier["usage"]["calls"] == ANSWERS  # type: ignore[index]  # a report is JSON
    assert later["usage"] | {"seconds": 0} == {  # type: ignore[operator]  # a report is JSON
        "calls": 0, "cached": ANSWERS, "tokens_in": 0, "tokens_out": 0, "cost": 0.0, "seconds": 0,
        "throttled": 0, "waited": 0.0, "shards": 0, "in_shards": 0, "estimated": 0,
        "tokens_reasoning": 0, "batched": 0, "batch_cost": 0.0,
    }  # fmt: skip


def test_the_header_says_what_is_stored(project: Project) -> None:
    run(house(project), "-p", "no:xdist", "-k", "objective")
    result = project.run("-p", "no:xdist", model="python:house:respond")
    line = f"factorfair: 14 cases, {ANSWERS} answers: 24 in the store, 192 to ask, estimated cost unknown"
    result.stdout.fnmatch_lines([line])
    assert calls(project) == ANSWERS
    again = project.run("-p", "no:xdist", model="python:house:respond")
    again.stdout.fnmatch_lines([f"*{ANSWERS} in the store, 0 to ask, estimated cost $0.00"])


def test_refresh_asks_again_and_replaces(project: Project) -> None:
    run(house(project), "-p", "no:xdist")
    run(project, "-p", "no:xdist", "--factorfair-reuse=none")
    assert calls(project) == 2 * ANSWERS
    with sqlite3.connect(project.path / ".factorfair" / "responses.sqlite") as store:
        assert store.execute("select count(*) from responses").fetchone() == (ANSWERS,)
    store.close()


def test_replay_asks_nothing(project: Project) -> None:
    house(project)
    project.run("-p", "no:xdist", "--factorfair-seed=1", model="sim:uniform")
    result = project.run(
        "-p",
        "no:xdist",
        "--factorfair-reuse=only",
        "--factorfair-gate=refusal_rate <= 0.5",
        model="python:house:respond",
    )
    assert calls(project) == 0
    result.assert_outcomes(failed=14 + 1, skipped=6)  # the release is not green without an answer
    result.stdout.fnmatch_lines(
        [
            "4 of 4 answers could not be obtained: not in the store",
            "Try: run once without --factorfair-reuse=only: only what is missing is asked",
        ]
    )


def test_with_nothing_to_replay_no_case_is_run(project: Project) -> None:
    """Neither where there is no store, nor in one that nothing was put into."""
    for message in ("no such response store", "holds no answer"):
        result = project.run("-p", "no:xdist", "--factorfair-reuse=only", model="sim:uniform")
        assert result.ret == 4
        (line,) = [line for line in result.errlines if line]
        assert message in line
        assert line.endswith("run once without reuse=only")
        Store.open(f"sqlite:///{project.path}/.factorfair/responses.sqlite").close()


def test_another_seed_is_asked_again(project: Project) -> None:
    run(house(project), "-p", "no:xdist", "-k", "objective")
    run(project, "-p", "no:xdist", "-k", "objective", "--factorfair-seed=1")
    assert calls(project) == 48


def test_filtered_answers_are_counted_and_never_asked_again(project: Project, stub: StubServer) -> None:
    """Asked again by every run, they would turn into a pass one by one."""
    stub.script(filters=0.3)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    options = ("-pno:xdist", url, "--factorfair-gate=refusal_rate <= 0.2", "FACTORFAIR_LOOKS=1")
    reports = []
    for _ in range(6):
        project.run(*options, model="hosted_vllm/m")
        reports.append(project.report())
        assert stub.stats()["requests"] == ANSWERS
    replies = project.report_path.with_name("responses.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [(reply["outcome"], reply.get("reason", "")) for reply in map(json.loads, replies)]
    assert len(answers) == ANSWERS
    assert set(answers) == {("answered", ""), ("refused", "filtered by the provider")}
    assert 0.2 * ANSWERS < sum(outcome == "refused" for outcome, _ in answers) < 0.4 * ANSWERS
    verdicts = [[gate["verdict"] for gate in report["gates"]] for report in reports]
    assert "failed" in verdicts[0]
    assert verdicts == verdicts[:1] * 6


NO_SOCKETS = program("no_sockets")


def test_replay_never_opens_a_connection(project: Project) -> None:
    project.run("-p", "no:xdist", model="sim:uniform")
    project.write("conftest.py", NO_SOCKETS)
    model = ("--factorfair-model-arg=base_url=http://127.0.0.1:9/v1",)
    result = project.run("-p", "no:xdist", "--factorfair-reuse=only", *model, model="hosted_vllm/some-model")
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
