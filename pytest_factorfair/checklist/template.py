"""Templates: ``{word}`` is replaced, everything else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pytest_factorfair.errors import InputError, nearest

# Three pieces per match: an article standing right before the placeholder, its space, the word.
_PLACEHOLDER = re.compile(r"(?:\b([Aa]n?)( ))?\{([a-z_]+)\}")
_VOWEL_SOUND = re.compile(
    r"8|1[18](?!\d)"  # eight, eleven, eighteen
    r"|[AEFHILMNORSX](?:[A-Z]|\b)"  # letters spelled out: an HIV test
    r"|(?![A-Z]{2}|eu|one\b|uni(?![dmn])|us[aeiu]|ut[ei])[aeiou]"
    r"|hon(?:est|o)|hour|heir"
)


@cache
def placeholders(template: str) -> frozenset[str]:
    """The words a template asks for."""
    return frozenset(match[3] for match in _PLACEHOLDER.finditer(template))


@cache
def _pieces(template: str) -> tuple[str, tuple[tuple[str, str, str, str], ...]]:
    """The text before the first placeholder, then (article, space, word, following text) of each."""
    head, *rest = _PLACEHOLDER.split(template)
    parts = [part or "" for part in rest]
    return head or "", tuple(zip(*(parts[start::4] for start in range(4)), strict=True))


@cache
def _article(written: str, word: str) -> str:
    """The article that agrees with the sound a word begins with, in the case it was written in."""
    sounded = word if word[:2].isupper() else word.lower()
    return written[0] + ("n" if _VOWEL_SOUND.match(sounded) else "")


def fill(template: str, words: Mapping[str, str], *, agree: bool) -> str:
    """The template with each ``{word}`` replaced; other braces stay as they are.

    With ``agree`` an article right before a placeholder follows the word that takes its place.

    Raises:
        InputError: the template asks for a word there is none for.
    """
    head, parts = _pieces(template)
    text = [head]
    for article, space, name, following in parts:
        if name not in words:
            raise InputError(f"unknown placeholder {{{name}}} in {template!r}{nearest(name, words)}")
        word = words[name]
        text += (_article(article, word) if agree and article else article, space, word, following)
    return "".join(text)
