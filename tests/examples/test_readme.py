"""What the README shows is what happens: its two commands here, the others where the documentation has them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.pages import Reader
from tests.examples.snippets import Snippet, commands, missing, snippets
from tests.examples.terminal import Terminal
from tests.extras import needs
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


LARGEST = 3 * 10**6
"""Bytes of a page about the whole checklist, without pictures."""


MOST_LINES = 45 + len(["......", "factorfair: 20,000 of 24,624 answers ..."])
"""Lines of a run, and of its progress on a machine on which it takes more than half a minute."""


def test_there_are_exactly_two_commands_to_set_up() -> None:
    assert len(SETUP) == 2
    assert all(command.startswith("python3 -m venv ") for command in SETUP)


@pytest.mark.slow
@needs("dev", "uv")
def test_the_first_one_with_the_wheel(tmp_path: Path) -> None:
    """Of the wheel that is built from the source distribution, and installed by uv; CI types the command itself."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir"]
    subprocess.run([*build, tmp_path / "dist", ROOT], check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    command = SETUP[0].replace("/tmp/factorfair", str(tmp_path / "venv"))  # noqa: S108  # the README's folder
    pip, uv = (
        f"{tmp_path}/venv/bin/pip install",
        f"{sys.executable} -m uv pip install --python {tmp_path}/venv",
    )
    command = command.replace('"$(mktemp -d)"', str(tmp_path)).replace(
        f"{pip} --quiet .", f"{uv} --quiet {wheel}"
    )
    assert str(wheel) in command
    done = subprocess.run(  # the picture is of 80 columns
        ["bash", "-c", command], cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-3000:]
    assert "FAILED s_e[base,gender]: " in done.stdout
    assert len(done.stdout.splitlines()) <= MOST_LINES
    picture = blocks("text")[0].splitlines()
    assert len(picture) > 15
    assert not missing(picture[1:], done.stdout)
    assert (tmp_path / ".factorfair/report/report.html").stat().st_size < LARGEST
    again = subprocess.run(
        [tmp_path / "venv/bin/pytest", "--factorfair-model=sim:stereotyped", "--factorfair-plan"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0
    assert "12,528 in the store, 0 to ask" in again.stdout


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
def test_what_it_costs_is_what_a_plan_says(tmp_path: Path, row: str) -> None:
    *_, run, calls, tokens_in, tokens_out = (cell.strip() for cell in row.strip("|").split("|"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--factorfair-model=sim:uniform",
         "--factorfair-plan", *re.findall(r"`(--.*?)`", run)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    tokens = re.search(r"^tokens: about ([0-9,]+) in, ([0-9,]+) out", done.stdout, re.MULTILINE)
    assert tokens is not None
    assert f"\ncalls: {calls}" in done.stdout
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
