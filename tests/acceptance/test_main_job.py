"""The main job over HTTP, with a server in a separate process."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.domain import Sampling
from tests.acceptance.respondents import K
from tests.acceptance.running import reported
from tests.project import FEW, Project
from tests.servers import StubServer
from tests.unit.checklist.files import fact_or_fair

CONNECTIONS = 64
"""The most calls in flight by default."""

SAMPLES, OBJECTIVE = 24, 4
"""Of the smoke preset: answers to each of 4 topics in 4 contexts, and to each of 8 objective cases."""


def run(folder: Path, *arguments: str, expect: int = 0, **environment: str) -> dict[str, Any]:
    """Run pytest in an otherwise empty folder and return its report."""
    return reported(folder, *arguments, expect=expect, **environment)[0]


def test_a_run_over_http(tmp_path: Path, stub: StubServer) -> None:
    """A run through ``openai/...`` asks each query once, in parallel, and scores what came back."""
    stub.script(answer="uniform", held=1, crowd=CONNECTIONS)
    report = run(
        tmp_path,
        "-n0",
        "--factorfair-model=openai/gpt-4o",
        f"--factorfair-model-arg=base_url={stub.base_url}",
        f"--factorfair-checklist={FEW}",
        "--factorfair-preset=smoke",
    )
    calls = 4 * 4 * SAMPLES + 8 * OBJECTIVE
    seen = stub.stats()
    assert seen["requests"] == calls
    assert seen["most_in_flight"] == CONNECTIONS
    assert seen["last"]["temperature"] == 0
    assert seen["last"]["max_tokens"] == 1024
    assert [message["role"] for message in seen["last"]["messages"]] == ["user"]
    assert report["usage"]["calls"] == calls
    assert len(report["cases"]) == 4 * 12 + 8  # three scenarios of a topic in each context
    assert sum(len(case["answers"]) for case in report["cases"]) == calls
    for score in report["scores"]:
        if score["metric"] == "s_fact" and score["part"] == "subjective":
            # the server picks a letter by the prompt's hash, so every group is as likely: 4 standard errors
            k = K[score["attribute"]]
            error = (1 / k * (1 - 1 / k) / (SAMPLES * 4)) ** 0.5
            assert score["value"] == pytest.approx(1 / k, abs=4 * error)


def test_every_case_of_the_checklist_over_http(tmp_path: Path, stub: StubServer) -> None:
    """Asked once each: what the server receives are the checklist's prompts."""
    report = run(
        tmp_path, "-n0", "--factorfair-model=openai/gpt-4o", f"--factorfair-model-arg=base_url={stub.base_url}",
        "FACTORFAIR_DESIGN=paper", "--factorfair-samples=3,objective=1",
    )  # fmt: skip
    assert len(report["cases"]) == 522
    asked = Sampling("paper", samples=3, objective=1, seed=0)
    checklist = fact_or_fair("fact_or_fair")
    prompts = [query.prompt for case in cases(checklist, asked) for query in queries(checklist, case, asked)]
    assert len(prompts) == 522
    hashes = Counter(hashlib.sha256(prompt.encode()).hexdigest() for prompt in prompts)
    assert stub.stats()["prompts"] == hashes


def test_two_workers_over_http(project: Project, stub: StubServer) -> None:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    assert project.run("-n2", url, model="hosted_vllm/some-model").ret == 0
    assert stub.stats()["requests"] == project.report()["usage"]["calls"] == 4 * 2 * 24 + 6 * 4
    assert stub.stats()["most_in_flight"] <= CONNECTIONS  # all workers together


def test_a_refused_key_stops_the_run_at_once(
    project: Project, stub: StubServer, dist: tuple[str, ...]
) -> None:
    stub.script(fail=-1, status=401)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    result = project.run(*dist, url, "--factorfair-gate=s_fact[objective] >= 0.5", model="openai/gpt-4o")
    assert result.ret == 2
    printed = result.stdout.str()
    workers = 2 if dist == ("-n2",) else 1
    failed = int(re.findall(r" (\d+) failed", printed)[-1])
    assert 2 <= failed <= workers + 1  # cases, and the release
    assert "FAILED factorfair::" not in printed  # the section below says why
    assert "Interrupted: the run ended early, as said above" in printed
    assert "Traceback" not in printed + result.stderr.str()
    assert "Do not ship it yet: openai/gpt-4o: 401" in printed
    assert "release: UNDECIDED: 0 of 2 gates passed, 2 not judged" in printed
    # what was in flight at the first refusal, and no more
    assert stub.stats()["requests"] <= CONNECTIONS * workers
