"""A run that asks a model that reasons and searches, from its plan to its page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.models.services import CITED, SEARCHED
from tests.project import Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
PRICES = ("--factorfair-model-arg=price_in=0", "--factorfair-model-arg=price_out=1000")


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run("-p", "no:xdist", url, *PRICES, *arguments, model="hosted_vllm/m")


def replies(page: Path) -> list[dict[str, Any]]:
    """The cases of a page with their replies."""
    (packed,) = re.findall(r'id="replies">([^<]*)<', page.read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return cases


def test_answers_that_are_all_cut_off_end_the_run_and_are_paid_for_once(
    project: Project, stub: StubServer
) -> None:
    stub.script(message={"content": ""}, choice={"finish_reason": "length"})
    lines = [
        "Not judged: m: the first 3 answers were cut off by max_tokens of 1024, which hidden reasoning may use up:*",
        "Next: raise it with --factorfair-model-arg=max_tokens=N, then run it again to continue: *",
    ]
    for _ in range(2):
        result = run(project, stub, "--factorfair-max-connections=1")
        assert result.ret == 2
        result.stdout.fnmatch_lines(lines)
        assert stub.stats()["requests"] == 3
    assert project.stored() == 3


def test_reasoning_is_planned_and_reported_and_sources_of_facts_are_listed(
    project: Project, stub: StubServer
) -> None:
    stub.script(**SEARCHED, answer='{"answer": "A"} [1]\n\n[1] https://cdc.gov/B')
    searching = ("--factorfair-model-arg=body.web_search_options={}",)
    tokens = 8 * ANSWERS
    plan = run(project, stub, *searching, "--factorfair-plan")
    plan.stdout.fnmatch_lines(
        [f"*{ANSWERS} to ask, estimated cost ${tokens / 1000:,.2f}, excluding reasoning",
         f"tokens: about * in, {tokens:,} out, for all answers, excluding reasoning",
         f"cost: about ${tokens / 1000:,.2f}, excluding reasoning"]
    )  # fmt: skip
    assert stub.stats()["requests"] == 0

    result = run(project, stub, *searching)
    assert result.ret == 0
    tokens, reasoning = 40 * ANSWERS, 30 * ANSWERS
    bill = f"{ANSWERS} calls, {tokens:,} tokens out, {reasoning:,} of them for reasoning, cost ${tokens / 1000:.2f}"
    result.stdout.fnmatch_lines([f"*{bill}*"])
    report, page = project.report(), project.report_path.with_name("report.html")
    assert (report["usage"]["tokens_out"], report["usage"]["tokens_reasoning"]) == (tokens, reasoning)
    assert {topic["unparsed"] for topic in report["topics"]} == {0}
    assert report["fingerprint"]["models"]["hosted_vllm/m"]["searches"] == "answers may change with the web"
    assert "hosted_vllm/m: it cites sources: its answers may change with what it finds" in report["notes"]
    assert f"{tokens:,} out, {reasoning:,} of them for reasoning" in page.read_text(encoding="utf-8")
    sources = {case["case"].partition("-")[0]: case["shown"][0].get("sources") for case in replies(page)}
    assert sources == {"objective": list(CITED), "subjective": None}

    larger = ("--factorfair-samples=48,objective=8", "--factorfair-plan")
    plan = run(project, stub, *searching, *larger)
    basis = f"each 40 as in {ANSWERS} stored answers, 30 of them for reasoning"
    plan.stdout.fnmatch_lines(
        [f"tokens: about * in, {80 * ANSWERS:,} out, for all answers, {basis}", f"cost: about ${40 * ANSWERS / 1000:.2f}"]
    )  # fmt: skip
