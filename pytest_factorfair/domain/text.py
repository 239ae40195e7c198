"""Format text: make it safe for files, terminals and job logs, and write counts, lists and titles."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

_TERMINAL_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)?")


def utf8(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plural(number: float, noun: str, nouns: str = "") -> str:
    """Format a count with its noun: ``1 case``, ``10,944 cases``; ``nouns`` is an irregular plural."""
    count = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{count} {noun if number == 1 else nouns or f'{noun}s'}"


CENT = 0.01
"""USD."""


def dollars(amount: float) -> str:
    """Format an amount in USD: ``$1,234.50``; of less than a cent, two significant digits: ``$0.0012``."""
    decimals = 1 - math.floor(math.log10(amount)) if 0 < amount < CENT else 2
    return f"${amount:,.{decimals}f}"


def clock(seconds: float) -> str:
    """Format a duration: ``0:05``, ``12:34``, ``1:02:03``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def listed(words: Sequence[str]) -> str:
    """Join words to a list: ``a``, ``a and b``, ``a, b and c``."""
    *leading, last = words
    return f"{', '.join(leading)} and {last}" if leading else last


def first_few(words: Sequence[str], most: int, noun: str = "") -> list[str]:
    """The first of many words, then the number of others: ``["a", "b", "7 more"]``, or ``"7 others"``."""
    others = len(words) - most
    if others <= 0:
        return [*words]
    return [*words[:most], plural(others, noun) if noun else f"{others:,} more"]


NAMES = {"covid_19": "COVID-19", "hiv": "HIV"}
"""The spelling of abbreviations in names."""


@lru_cache(maxsize=1024)  # of few statistics, in many rows
def titled(name: str) -> str:
    """Convert an identifier to a title: ``hiv_rate`` to ``HIV Rate``."""
    for part, written in NAMES.items():
        name = re.sub(rf"(?<![a-z0-9]){part}(?![a-z0-9])", written, name)
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_"))


def visible(text: str) -> str:
    """Replace control and invisible characters, which could control terminals or reverse text, by ``?``."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def excerpt(text: str, longest: int) -> str:
    """Shorten a text to one line of visible characters."""
    # Cut first, because a text may be much longer.
    plain = _TERMINAL_ESCAPE.sub("", text[: 20 * longest])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def defused(text: str) -> str:
    """Make a line safe for a job's log, so that text from outside cannot become a workflow command.

    CI runners obey ``::name::`` at the beginning of a line, and ``##[name]`` anywhere in it.
    """
    return re.sub(r"(\A|[\r\n])(\s*):(?=:)", r"\1\2: ", text).replace("##[", "## [")
