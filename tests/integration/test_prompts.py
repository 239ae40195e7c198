"""``factorfair prompts`` prints what a run asks, in forms that come back as its answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import models
from pytest_factorfair.benchmarks import load
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Request
from tests.project import FEW_PORTRAITS, Project
from tests.servers import StubServer

SMALL = ("prompts", "--checklist", "small.yaml", "--samples", "24,objective=4")


@pytest.fixture(autouse=True)
def _in_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The lines that the command prints, as JSON."""
    assert main([*SMALL, *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_batch_file_has_the_requests_of_a_run(
    project: Project, stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the small checklist: 8 judgements of 24 answers and 6 facts of 4."""
    lines = printed(capsys, "--format", "batch", "--model", "openai/m", "--model-arg", "temperature=0.5")
    assert len({line["custom_id"] for line in lines}) == len(lines) == 8 * 24 + 6 * 4
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    assert project.run("-n0", url, "--factorfair-model-arg=temperature=0.5", model="hosted_vllm/m").ret == 0
    stats = stub.stats()
    prompts = Counter(
        hashlib.sha256(line["body"]["messages"][0]["content"].encode()).hexdigest() for line in lines
    )
    assert stats["prompts"] == prompts
    assert stats["last"] in [line["body"] for line in lines]


def test_lines_with_replies_can_be_replayed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--format", "jsonl")
    assert {line["checklist"] for line in lines} == {"small"}
    text = '{"answer": "A"}'
    replies = "\n".join(
        json.dumps({"prompt": line["prompt"], "repeat": line["repeat"], "text": text}) for line in lines
    )
    project.write("replies.jsonl", replies)
    assert project.run("-n0", model="replay:replies.jsonl").ret == 0
    outcomes = Counter(answer["outcome"] for case in project.report()["cases"] for answer in case["answers"])
    assert outcomes == {"answered": len(lines)}


@pytest.mark.parametrize("manifest", [True, False], ids=["manifest", "names"])
def test_files_of_pictures_answer_their_prompts(
    project: Project, capsys: pytest.CaptureFixture[str], *, manifest: bool
) -> None:
    """Whether the folder has the lines as its manifest, or only files with these names."""
    assert (
        main(["prompts", "--checklist", str(FEW_PORTRAITS), "--samples", "images=12", "--format", "jsonl"])
        == 0
    )
    text = capsys.readouterr().out
    folder = project.path / "made"
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        file = folder / line["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(line["file"].encode())
    if manifest:
        (folder / "manifest.jsonl").write_text(text, encoding="utf-8")
    checklist = load(str(FEW_PORTRAITS), truth="audited", base=Path.cwd())
    model = models.build("images:made", {}, checklists=(checklist,), custom={})
    for line in lines:
        response = asyncio.run(model.ask(Request(line["prompt"], line["repeat"])))
        assert response.image == line["file"].encode()
    assert len(lines) == 12 * len({line["file"].partition("/")[0] for line in lines})


def test_the_text_shows_a_prompt_of_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "tea_rate-gender"]) == 0
    blocks = capsys.readouterr().out.strip().split("\n\n")
    assert [block.partition(": ")[0] for block in blocks] == [
        f"objective-tea_rate-gender-{end}" for end in ("highest", "lowest")
    ]
    assert all(": 4 prompts\n  " in block and "Tea" in block for block in blocks)
    assert main([*SMALL, "-n", "0", "objective-tea_rate-gender-highest"]) == 0
    assert capsys.readouterr().out.count("Reply with") == 4  # two wordings in both orders


def test_the_prompts_of_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    for checklist in ("fact_or_fair", "fact_or_fair_t2i", "faintbench", "fact_or_fair_eu"):
        assert main(["prompts", "--preset", "tiny", "--checklist", checklist, "--format", "jsonl"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tea_rat",),
            "prompts: there is no case 'tea_rat'; 8 contain it, such as objective-tea_rate-gender-highest",
        ),
        (("tae_rate",), "prompts: there is no case 'tae_rate'; "),
        (("--format", "batch"), "--format batch: name the model with --model, such as openai/gpt-4o"),
        (
            ("--format", "batch", "--model", "sim:ideal"),
            "--model sim:ideal: not a service with batches; use --format jsonl",
        ),
        (("--samples", "x"), "--samples: expected N, objective=N"),
        (("--preset", "smok"), "factorfair prompts: --preset: unknown value 'smok'; did you mean 'smoke'?"),
        (("-n", "-1"), "-n: expected 0 or more, got -1"),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main([*SMALL, *arguments]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1
