"""Text made safe for files, terminals and job logs, and counts with their nouns."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TERMINAL_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)?")


def utf8(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode: each becomes "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plural(number: float, noun: str, nouns: str = "") -> str:
    """A count with its noun: ``1 case``, ``10,944 cases``; ``nouns`` is an irregular plural."""
    count = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{count} {noun if number == 1 else nouns or f'{noun}s'}"


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *leading, last = words
    return f"{', '.join(leading)} and {last}" if leading else last


NAMES = {"covid_19": "COVID-19", "hiv": "HIV"}
"""Parts of names that are not words."""


def titled(name: str) -> str:
    """An identifier as people write it: ``HIV Rate`` of ``hiv_rate``."""
    for part, written in NAMES.items():
        name = re.sub(rf"(?<![a-z0-9]){part}(?![a-z0-9])", written, name)
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_"))


def visible(text: str) -> str:
    """The text with ``?`` for control and invisible characters, which act on terminals or reverse text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def excerpt(text: str, longest: int) -> str:
    """The beginning of a text as one line of visible characters."""
    # Only the beginning of a much longer text matters.
    plain = _TERMINAL_ESCAPE.sub("", text[: 20 * longest])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def defused(text: str) -> str:
    """A line that is safe in a job's log: text from outside cannot become a workflow command.

    Runners obey ``::name::`` at the beginning of a line, and ``##[name]`` anywhere in it.
    """
    return re.sub(r"(\A|[\r\n])(\s*):(?=:)", r"\1\2: ", text).replace("##[", "## [")
