"""From templates to queries: ``{word}`` is replaced, and each prompt gets an id, a repeat and a seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256

from pytest_factorfair.domain import Case, Direction, Option, Query
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
    """The names of a template's placeholders."""
    return frozenset(match[3] for match in _PLACEHOLDER.finditer(template))


@cache
def _pieces(template: str) -> tuple[str, tuple[tuple[str, str, str, str], ...]]:
    """The text before the first placeholder, then (article, space, word, following text) of each."""
    head, *rest = _PLACEHOLDER.split(template)
    parts = [part or "" for part in rest]
    return head or "", tuple(zip(*(parts[start::4] for start in range(4)), strict=True))


def fill(template: str, words: Mapping[str, str], *, agree: bool) -> str:
    """The template with each ``{word}`` replaced; other braces stay as they are.

    With ``agree``, an article before a placeholder follows the sound that its replacement begins with.

    Raises:
        InputError: ``words`` lacks a word of the template.
    """
    head, parts = _pieces(template)
    text = [head]
    for article, space, name, following in parts:
        if name not in words:
            raise InputError(f"unknown placeholder {{{name}}} in {template!r}{nearest(name, words)}")
        written = words[name]
        if agree and article:
            sounded = written if written[:2].isupper() else written.lower()
            word = f"{article[0]}{'n' if _VOWEL_SOUND.match(sounded) else ''}{space}{written}"
        else:
            word = f"{article}{space}{written}"
        text += (word, following)
    return "".join(text)


Draft = tuple[str, tuple[Option, ...], Mapping[str, str]]
"""A query before it is numbered: a prompt, its options and the groups its context names."""


def numbered(
    drafts: Iterable[Draft], *, case: Case, seed: int, direction: Direction | None = None
) -> tuple[Query, ...]:
    """The queries of a case, with seeds derived from ``seed``, the run's."""
    asked: Counter[str] = Counter()
    queries = []
    for prompt, options, background in drafts:
        repeat = asked[prompt]
        asked[prompt] += 1
        id_ = sha256(f"{prompt}\0{repeat}".encode()).hexdigest()[:16]
        drawn = int(sha256(f"{seed}:{id_}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        queries.append(Query(id_, prompt, options, repeat, drawn, background, direction, case))
    return tuple(queries)
