"""What the README shows is what happens: CI types its two commands, other pages of the documentation have most others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.pages import Reader
from tests.examples.snippets import Snippet, commands, snippets
from tests.examples.terminal import Terminal
from tests.project import Project
from tests.servers import StubServer

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [*(ROOT / "docs").glob("*.md")]


def blocks(language: str) -> list[str]:
    return [block.text for block in snippets(README) if block.language == language]


def typed(page: Path) -> Iterator[str]:
    for block in snippets(page):
        if block.language == "console":
            yield from (command.typed for command in commands(block.text))


SETUP = [line for block in blocks("console") for line in block.splitlines() if not line.startswith("$ ")]
ELSEWHERE = {command for page in PAGES for command in typed(page)}


def test_there_are_exactly_two_commands_to_set_up() -> None:
    assert len(SETUP) == 2
    assert all(command.startswith("python3 -m venv ") for command in SETUP)


def test_the_commands(tmp_path: Path, stub: StubServer) -> None:
    """Those that no page of the documentation has, where they are tried with what is printed."""
    (folder := tmp_path / "empty").mkdir()
    with Terminal(folder, {"OPENAI_BASE_URL": stub.base_url}) as terminal:
        reader = Reader(terminal, folder, {})
        for command in typed(README):
            if command not in ELSEWHERE:
                reader.do(Snippet("console", "", f"$ {command}\n"))


@pytest.mark.parametrize(
    "row", [line for line in README.read_text("utf-8").splitlines() if line.startswith("| language model")]
)
def test_what_it_costs_is_what_a_plan_says(project: Project, row: str) -> None:
    *_, run, calls, tokens_in, tokens_out = (cell.strip() for cell in row.strip("|").split("|"))
    options = re.findall(r"`(--.*?)`", run)
    printed = project.run_pytest("--factorfair-model=sim:uniform", "--factorfair-plan", *options).stdout.str()
    tokens = re.search(r"^tokens: about ([0-9,]+) in, ([0-9,]+) out", printed, re.MULTILINE)
    assert tokens is not None
    assert f"\ncalls: {calls}" in printed
    planned = [int(number.replace(",", "")) for number in tokens.groups()]
    assert planned == pytest.approx(
        [int(number.replace(",", "")) for number in (tokens_in, tokens_out)], rel=0.03
    )


def test_the_settings_are_accepted(tmp_path: Path) -> None:
    (folder := tmp_path / "empty").mkdir()
    with Terminal(folder, {}) as terminal:
        for text in blocks("toml"):
            Reader(terminal, folder, {}).do(Snippet("toml", "", text))


def test_nothing_else_is_shown() -> None:
    """A block of another kind would be tried by nobody."""
    assert {block.language for block in snippets(README)} == {"console", "text", "toml"}
    assert [len(blocks(language)) for language in ("text", "toml")] == [1, 1]
