"""A run that asks a server for letters as JSON or for their probabilities; calls are counted at the server."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter

import pytest

from tests import forkserver, letter_servers
from tests.project import PYTEST, Project, comparable
from tests.servers import StubServer, stub, stub_process

__all__ = ["stub", "stub_process"]  # fixtures

ANSWERS = 6 * 4 + 4 * 2 * 24
PROBES = {"json": 1, "probabilities": 2 + 4 * 3}
"""Those that test the server and, of probabilities, four questions alone, again, and among others."""


def run(project: Project, stub: StubServer, answers: str, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, f"--factorfair-answers={answers}", *arguments, model="hosted_vllm/m")


def test_a_run_that_was_cut_short_pays_for_no_answer_twice(project: Project, stub: StubServer) -> None:
    stub.script(server="vllm")
    assert run(project, stub, "json", "-n0", "--factorfair-max-calls=100").ret == 2
    assert stub.stats()["requests"] == 100
    assert run(project, stub, "json", "-n0").ret == 0
    stats, report = stub.stats(), project.report()
    assert stats["requests"] == ANSWERS + 2 * PROBES["json"]
    assert max(stats["prompts"].values()) == 2  # those of the probes
    assert report["usage"]["cached"] == 100 - PROBES["json"]
    assert report["usage"]["calls"] == stats["requests"] - 100
    assert {(topic["unparsed"], topic["errors"]) for topic in report["topics"]} == {(0, 0)}


def test_a_server_that_ignores_the_schema_is_named_after_two_calls(
    project: Project, stub: StubServer
) -> None:
    stub.script(server="plain")
    result = run(project, stub, "json", "-n0")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*hosted_vllm/m: it cannot answer as json: it ignores response_format: it replied 'hello' *"]
    )
    result.stdout.fnmatch_lines(["*; 2 calls, cost unknown"])
    assert stub.stats()["requests"] == 2


def test_what_is_no_distribution_is_counted_with_its_reason_and_asked_once(
    project: Project, stub: StubServer
) -> None:
    """No log probabilities, none listed, too few, NaN, more than 1, other scripts, merged tokens, refusals."""
    stub.script(server="faulty")
    assert run(project, stub, "probabilities", "-n0").ret == 1
    assert stub.stats()["requests"] == ANSWERS + PROBES["probabilities"]
    lines = (project.path / ".factorfair/report/responses.jsonl").read_text().splitlines()
    lost = Counter(
        letter_servers.FAULTS[letter_servers.fault(json.loads(line)["prompt"])][0] for line in lines
    )
    assert sum(lost.values()) == ANSWERS
    assert all(lost[reason] for reason, _ in letter_servers.FAULTS)
    answers = [answer for case in project.report()["cases"] for answer in case["answers"]]
    assert Counter(answer.get("reason", "") for answer in answers) == lost
    refused = lost["refused by the model"]
    assert Counter(answer["outcome"] for answer in answers) == {
        "answered": lost[""], "refused": refused, "unparsed": ANSWERS - lost[""] - refused,
    }  # fmt: skip


def test_a_killed_run_resumes_to_the_report_of_a_whole_one(project: Project, stub: StubServer) -> None:
    """It is killed once all that it was told is stored, while four calls are under way."""
    answered, probes = 60, PROBES["probabilities"]
    stub.script(server="vllm", held=answered)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    options = ("-n0", "--factorfair-max-connections=4", "--factorfair-answers=probabilities")
    command = [forkserver.python(), *PYTEST, *project.arguments("hosted_vllm/m"), url, *options]
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL) as killed:
        while stub.stats()["requests"] < answered + 4 or project.stored() < answered - probes:
            assert killed.poll() is None
            time.sleep(0.01)
        forkserver.kill(killed)
    stub.script(server="vllm")
    assert run(project, stub, "probabilities", "-n0").ret == 0
    resumed = comparable(project.report())
    assert project.report()["usage"]["cached"] == answered - probes
    assert stub.stats()["requests"] == ANSWERS - (answered - probes) + probes
    assert {(topic["unparsed"], topic["errors"]) for topic in resumed["topics"]} == {(0, 0)}

    stub.script(server="vllm")
    assert run(project, stub, "probabilities", "-n2", "--factorfair-reuse=none").ret == 0
    assert stub.stats()["requests"] == ANSWERS + 2 * probes  # each worker probes once
    assert comparable(project.report()) == resumed
    assert run(project, stub, "probabilities", "-n0", "--factorfair-reuse=only").ret == 0
    assert stub.stats()["requests"] == ANSWERS + 2 * probes
    assert comparable(project.report()) == resumed

    lines = (project.path / ".factorfair/report/responses.jsonl").read_text().splitlines()
    texts = [json.loads(json.loads(line)["response"]["text"]) for line in lines]
    letters = [sum(value for token, value in text.items() if len(token) == 1) for text in texts]
    assert letters == pytest.approx([letter_servers.MASS] * ANSWERS)


def test_probabilities_that_depend_on_the_cache_have_wider_intervals(
    project: Project, stub: StubServer
) -> None:
    """The run asks each prompt once: only the repeated questions show what the server's cache does."""
    steady, noisy, corrected = "llama.cpp", "caching", ("-n0", "FACTORFAIR_ESTIMATOR=corrected")
    reports, printed = {}, {}
    for server in (steady, noisy):
        stub.script(server=server)
        result = run(project, stub, "probabilities", *corrected, "--factorfair-reuse=none")
        reports[server], printed[server] = project.report(), " ".join(result.stdout.str().split())
        assert stub.stats()["requests"] == ANSWERS + PROBES["probabilities"]
    noises = [
        {answer.get("noise", 0) for case in report["cases"] for answer in case["answers"]}
        for report in reports.values()
    ]
    assert noises[0] == {0}
    (noise,) = noises[1]
    scores = [
        [score for score in reports[server]["scores"] if score["metric"] == "s_e" and score["n"] >= 24]
        for server in (steady, noisy)
    ]
    assert scores[0]
    for exact, blurred in zip(*scores, strict=True):
        assert (blurred["value"], blurred["corrected"]) == (exact["value"], exact["corrected"])
        assert blurred["low"] < exact["low"]
        assert exact["high"] <= blurred["high"]  # 1 is the highest
    note = (
        "its probabilities depend on what else the server computes at the time, "
        f"one of 0.5 by about {noise / 4:.3f}: intervals allow for it"
    )
    assert note in printed[noisy]
    assert "depend on what else" not in printed[steady]
    assert f"hosted_vllm/m: {note}" in reports[noisy]["notes"]

    # Stored answers have the noise with which they were asked.
    assert run(project, stub, "probabilities", *corrected, "--factorfair-reuse=only").ret == 0
    assert comparable(project.report()) == comparable(reports[noisy])
