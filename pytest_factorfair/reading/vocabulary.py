"""What may name an option: its letter, its text, its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Option

# Alphabets whose words are set off by spaces and that have capitals, with their combining marks.
_SPACED = "0-9A-Za-zª²³µ¹ºÀ-ÖØ-öø-\u052f\u1e00-\u1fff"
_UNSPACED = "\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

WORD = re.compile(rf"[{_SPACED}]+|[{_UNSPACED}]|(?:(?![{_SPACED}{_UNSPACED}])[^\W_])+")
"""A word: "答案是B" is four of them, so that letters are found in scripts without spaces."""

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The letters offered, and by its first word every phrase that names an option, longest first.

    A phrase that several options share (two people of one name) maps to all their letters.
    """

    letters: frozenset[str]
    phrases: Mapping[str, tuple[tuple[Phrase, frozenset[str]], ...]]


def vocabulary(options: tuple[Option, ...]) -> Vocabulary:
    """Everything that may name one of the options."""
    owners: defaultdict[Phrase, set[str]] = defaultdict(set)
    for option in options:
        for name in (option.text, *option.words):
            owners[phrase(name)].add(option.letter)
    by_first: defaultdict[str, list[tuple[Phrase, frozenset[str]]]] = defaultdict(list)
    for words in sorted(owners, key=len, reverse=True):
        if len("".join(words)) > 1:
            by_first[words[0]].append((words, frozenset(owners[words])))
    return Vocabulary(
        letters=frozenset(option.letter for option in options),
        phrases={first: tuple(entries) for first, entries in by_first.items()},
    )


def phrase(text: str) -> Phrase:
    """The words of a text without case and punctuation."""
    return tuple(WORD.findall(text.casefold()))
