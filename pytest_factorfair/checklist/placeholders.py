"""Rules about the placeholders of one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.errors import nearest

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def placeholders(
    text: str, steps: tuple[Step, ...], *, known: Iterable[str], needed: Iterable[str]
) -> Iterator[Problem]:
    """Placeholders that are unknown or missing, and braces that belong to none."""
    known, found = set(known), used(text)
    for name in sorted(found - known):
        yield Problem(steps, f"unknown placeholder {{{name}}}{nearest(name, known)}")
    if not found - known:
        for name in sorted(set(needed) - found):
            yield Problem(steps, f"lacks the placeholder {{{name}}}")
    if set("{}") & set(_PLACEHOLDER.sub("", text)):
        yield Problem(steps, "has a brace that belongs to no placeholder")


def used(text: str) -> set[str]:
    """The names between braces in a text."""
    return set(_PLACEHOLDER.findall(text))
