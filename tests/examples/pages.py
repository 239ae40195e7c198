"""Follows a page as its reader would: all its snippets, in order, in one folder."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from pytest_factorfair.benchmarks import load
from pytest_factorfair.config import sources
from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.gates import parse, waivers
from tests.examples.snippets import Command, Snippet, commands, missing
from tests.examples.terminal import Printed, Terminal

README = Path(__file__).parents[2] / "README.md"


class Reader:
    """A reader who does what a page says; ``words`` replace words of the page."""

    def __init__(self, terminal: Terminal, folder: Path, words: Mapping[str, str]) -> None:
        self.terminal = terminal
        self.folder = folder
        self.words = words
        self.printed = ""

    def follow(self, blocks: Iterable[Snippet]) -> None:
        """Do everything in the blocks; fail at the first difference from what they show."""
        for block in blocks:
            self.do(block)

    def do(self, block: Snippet) -> None:
        text = block.text
        for word, replacement in self.words.items():
            text = text.replace(word, replacement)
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        DO[block.language](self, replace(block, text=text))

    def type(self, block: Snippet) -> None:
        block_commands = list(commands(block.text))
        assert block_commands, f"a console block without a command: {block.text}"
        for command, after in zip(block_commands, [*block_commands[1:], None], strict=True):
            printed = self.terminal.type(command.typed)
            self._look(command, printed, asked=after is not None and after.typed == "echo $?")

    def run(self, block: Snippet) -> None:
        if not block.title:
            (self.folder / "snippet.py").write_text(block.text, encoding="utf-8")
            run = """python -c 'import runpy; runpy.run_path("snippet.py", run_name="__main__")'"""
            self._look(Command("snippet.py", ()), self.terminal.type(run), asked=False)

    def compare(self, block: Snippet) -> None:
        assert not (lacking := missing(block.text.splitlines(), self.printed)), (
            f"{lacking}\n---\n{self.printed}"
        )

    def read_settings(self, block: Snippet) -> None:
        """Check that a run would accept the settings under ``[tool.factorfair]``."""
        (scratch := self.folder.parent / f"{self.folder.name}-settings").mkdir(exist_ok=True)
        (scratch / "pyproject.toml").write_text(block.text, encoding="utf-8")
        tomllib.loads(block.text)
        settings = sources.pyproject(scratch)
        parsed = {
            option.name: sources.parsed(option, settings[option.name])
            for option in OPTIONS
            if option.name in settings
        }
        for gate in parsed.get("gate", ()):
            if gate != "default":
                parse(gate)
        if sources.WAIVERS in settings:
            waivers(settings[sources.WAIVERS].value, "page")

    def read_yaml(self, block: Snippet) -> None:
        content = yaml.safe_load(block.text)
        if str(content.get("schema", "")).startswith("factorfair.checklist"):
            assert block.title, "a checklist of a page has a title"
            load(block.title, truth="audited", base=self.folder)

    def read_readme(self, block: Snippet) -> None:
        """Check that commands for a fresh machine are the README's, which another test runs."""
        assert block.text.strip() in README.read_text(encoding="utf-8")

    def read_script(self, block: Snippet) -> None:
        """Check the syntax of a script; the page runs it, if it can be run here."""
        assert block.title, "a script of a page has a title"
        printed = self.terminal.type(f"bash -n {block.title}")
        assert printed.status == 0, printed.text

    def read_json(self, block: Snippet) -> None:
        for line in block.text.splitlines():
            json.loads(line)

    def _look(self, command: Command, printed: Printed, *, asked: bool) -> None:
        self.printed = printed.text
        assert asked or printed.status == 0, f"{command.typed}: ended with {printed.status}\n{printed.text}"
        lacking = missing(command.shown, printed.text)
        assert not lacking, f"{command.typed}: did not print\n{lacking}\n--- but\n{printed.text}"


DO: Mapping[str, Callable[[Reader, Snippet], None]] = {
    "console": Reader.type,
    "python": Reader.run,
    "text": Reader.compare,
    "toml": Reader.read_settings,
    "yaml": Reader.read_yaml,
    "json": Reader.read_json,
    "bash": Reader.read_script,
    "sh": Reader.read_readme,
}
"""The action for each language of blocks; other languages are not allowed."""
