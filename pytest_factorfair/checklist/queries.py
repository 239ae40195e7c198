"""Build queries from templates: replace ``{word}``, and give each prompt an id, a repeat and a seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256

from pytest_factorfair.domain import ENGLISH, Case, Direction, Language, Option, Query
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.languages import words as words_of

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@cache
def placeholders(template: str) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(_PLACEHOLDER.findall(template))


@cache
def _pieces(template: str, language: Language) -> tuple[str, tuple[tuple[str, str, str, str], ...]]:
    """Split a template: the text before the first placeholder, then (article, space, word, text) of each."""
    forms = {
        form
        for article in words_of(language).prompts.articles
        for pair in article.forms.items()
        for word in pair
        for form in (word, word.capitalize())
    }
    articles = "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or "(?!)"
    # Three groups per match: an article directly before the placeholder, its space, the word.
    head, *pieces = re.split(rf"(?:\b({articles})( ))?\{{([a-z_]+)\}}", template)
    parts = [part or "" for part in pieces]
    return head or "", tuple(zip(*(parts[start::4] for start in range(4)), strict=True))


def fill(template: str, words: Mapping[str, str], *, agree: bool, language: Language = ENGLISH) -> str:
    """Replace each ``{word}`` of a template; other braces are kept.

    A word loses the quotes, the space or the full stop that the template already has beside it. With
    ``agree``, an article before a placeholder is adapted to the text that replaces it ("a", "an").

    Raises:
        InputError: ``words`` lacks a word of the template.
    """
    head, parts = _pieces(template, language)
    before = (head, *(following for *_, following in parts))
    text = ""
    for position in range(len(parts) - 1, -1, -1):
        article, space, name, following = parts[position]
        if name not in words:
            raise InputError(f"unknown placeholder {{{name}}} in {template!r}{nearest(name, words)}")
        after = following + text
        written = _fitted(space or before[position], words[name], after)
        text = written + after
        if article:
            # Words in capitals keep their case: "an HIV test".
            sounded = text if written[:2].isupper() else text.lower()
            text = (_agreeing(article, sounded, language) if agree else article) + space + text
    return head + text


QUOTES = "\"'“”„‘’«»‹›「」『』"  # noqa: RUF001 - quotation marks of several languages
SPACED_QUOTES = ("«»", "‹›")  # noqa: RUF001 - as above
"""Quotation marks that French separates from the text by spaces."""

STOPS = ".。"


def doubled(before: str, written: str, after: str) -> str:
    """What a text brings that already stands beside it: "quotes", "a space", "a full stop", or nothing."""
    if not written:
        return ""
    first, last, left, right = written[0], written[-1], before[-1:], after[:1]
    spaced = left.isspace() and right.isspace() and before[-2:-1] + after[1:2] in SPACED_QUOTES
    quoted = spaced or (left and right and left in QUOTES and right in QUOTES)
    if quoted and first in QUOTES and last in QUOTES:
        return "quotes"
    if (left.isspace() and first.isspace()) or (right.isspace() and last.isspace()):
        return "a space"
    return "a full stop" if right and right in STOPS and last in STOPS else ""


def _fitted(before: str, written: str, after: str) -> str:
    """A text without what already stands beside it."""
    match doubled(before, written, after):
        case "quotes":
            return written[1:-1].strip()
        case "a space":
            return written.strip()
        case "a full stop":
            return written[:-1]
    return written


def _agreeing(article: str, following: str, language: Language) -> str:
    """The form of an article that agrees with the text that follows."""
    for candidate in words_of(language).prompts.articles:
        for default_form, matching_form in candidate.forms.items():
            if article.lower() in (default_form, matching_form):
                form = matching_form if candidate.before.match(following) else default_form
                return form.capitalize() if article[0].isupper() else form
    return article


Draft = tuple[str, tuple[Option, ...], Mapping[str, str]]
"""A query without id, repeat and seed: a prompt, its options, and the groups that its context names."""


def numbered(
    drafts: Iterable[Draft], *, case: Case, seed: int, direction: Direction | None = None
) -> tuple[Query, ...]:
    """Number the queries of a case; their seeds are derived from ``seed``, the run's."""
    asked: Counter[str] = Counter()
    queries = []
    for prompt, options, background in drafts:
        repeat = asked[prompt]
        asked[prompt] += 1
        id_ = sha256(f"{prompt}\0{repeat}".encode()).hexdigest()[:16]
        drawn = int(sha256(f"{seed}:{id_}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        queries.append(Query(id_, prompt, options, repeat, drawn, background, direction, case))
    return tuple(queries)
