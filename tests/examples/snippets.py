"""The snippets of a page, in order: commands, files, and expected output."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_FENCE_OR_SECTION = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$|^## (?P<section>[^\n]+)",
    re.MULTILINE | re.DOTALL,
)
_GENERATED = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Snippet:
    """A fenced block in a section of a page; one with a title is a file of that name."""

    language: str
    title: str
    text: str
    section: str = ""


class Command(NamedTuple):
    """A command after ``$``, and the output that the page shows for it."""

    typed: str
    shown: tuple[str, ...]


def written(page: Path) -> str:
    """The text of a page without its generated parts."""
    return _GENERATED.sub("", page.read_text(encoding="utf-8"))


def snippets(page: Path) -> tuple[Snippet, ...]:
    """All fenced blocks of a page."""
    return tuple(_snippets(written(page)))


def _snippets(text: str) -> Iterator[Snippet]:
    section = ""
    for part in _FENCE_OR_SECTION.finditer(text):
        if part["section"] is not None:
            section = part["section"]
        else:
            title = _TITLE.search(part["info"])
            yield Snippet(part["language"], title[1] if title else "", textwrap.dedent(part["text"]), section)


def commands(text: str) -> Iterator[Command]:
    """The commands of a console block; a line that ends with a backslash continues."""
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        typed, _, shown = block.replace("\\\n", "").partition("\n")
        yield Command(typed, tuple(shown.splitlines()))


def missing(shown: Sequence[str], printed: str) -> str:
    """The lines that a page shows and a command did not print; empty if it printed all.

    A line of three dots stands for any lines, three dots within a line for anything.
    """
    lines, position = [line.rstrip() for line in printed.splitlines()], 0
    for part in "\n".join(shown).split("\n...\n") if shown else ():
        expected = [line for line in part.strip("\n").splitlines() if line != "..."]
        start = next((at for at in range(position, len(lines)) if _begins(expected, lines[at:])), None)
        if start is None:
            return "\n".join(expected)
        position = start + len(expected)
    return ""


def _begins(expected: Sequence[str], lines: Sequence[str]) -> bool:
    return len(lines) >= len(expected) and all(map(_same, expected, lines))


def _same(expected: str, line: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.rstrip().split("...")))
    return re.fullmatch(pattern, line) is not None
