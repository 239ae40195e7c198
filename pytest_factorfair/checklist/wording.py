"""Rules for texts of checklists: placeholders, names of groups, and words that reveal a group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pytest_factorfair.checklist.fields import Group, spoken
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.queries import doubled
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.errors import nearest

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_FIRST, _LAST = re.compile(r"^\s*(\w+)"), re.compile(r"(\w+)\s*$")


def placeholders(
    text: str, steps: tuple[Step, ...], *, known: Iterable[str], needed: Iterable[str]
) -> Iterator[Problem]:
    """Find placeholders that are unknown or missing, and braces that belong to no placeholder."""
    known_names, used_names = set(known), used(text)
    for name in sorted(used_names - known_names):
        yield Problem(steps, f"unknown placeholder {{{name}}}{nearest(name, known_names)}")
    if not used_names - known_names:
        for name in sorted(set(needed) - used_names):
            yield Problem(steps, f"lacks the placeholder {{{name}}}")
    if set("{}") & set(_PLACEHOLDER.sub("", text)):
        yield Problem(steps, "has a brace that belongs to no placeholder")


def said_twice(text: str, values: Mapping[str, Iterable[str]], *, spaces: bool) -> Iterator[str]:
    """Find what a text has beside a placeholder that brings it itself: quotes, a full stop, a word.

    ``values`` are what may replace each placeholder. With ``spaces``, the language separates words.
    """
    for match in _PLACEHOLDER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        for value in values.get(match[1], ()):
            twice = doubled(before, value, after)
            ends = _LAST.search(before), _FIRST.search(value), _LAST.search(value), _FIRST.search(after)
            last, first, *others = (end[1].casefold() if end else "" for end in ends)
            word = next((left for left, right in ((last, first), others) if left and left == right), "")
            if twice or (spaces and word):
                yield f"has {twice or repr(word)} beside {match[0]}, which brings its own: {value}"
                break


def used(text: str) -> set[str]:
    """The names of the placeholders in a text."""
    return set(_PLACEHOLDER.findall(text))


def ambiguous(steps: tuple[Step, ...], groups: Mapping[str, Group]) -> Iterator[Problem]:
    """Find words and aliases that two groups of an attribute share."""
    owners: dict[str, str] = {}
    for name, group in groups.items():
        for word in spoken(name, group):
            owner = owners.setdefault(word.casefold(), name)
            if owner != name:
                yield Problem((*steps, name), f"'{word}' also means {owner}")


def group_names(attributes: Iterable[Mapping[str, Group]], *, spaces: bool = True) -> re.Pattern[str]:
    """A pattern that matches any name, word or alias of the groups of these attributes."""
    return any_of(
        (word for groups in attributes for name, group in groups.items() for word in spoken(name, group)),
        spaces=spaces,
    )


def any_of(words: Iterable[str], *, spaces: bool = True, patterns: bool = False) -> re.Pattern[str]:
    """A pattern that matches any of the words, ignoring case, and the longest one that fits.

    With ``spaces``, only whole words match. With ``patterns``, the words are regular expressions.
    """
    longest_first = sorted(words, key=len, reverse=True)
    choices = "|".join(longest_first if patterns else map(re.escape, longest_first))
    return re.compile(rf"(?<!\w)(?:{choices})(?!\w)" if spaces else choices or "(?!)", re.IGNORECASE)
