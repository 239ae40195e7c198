"""A table of text, and how figures stand in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import Score

POINT = " " * len(" ±.000")
"""Stands where a score without an interval has none, so that decimals stay in line."""


class Row(NamedTuple):
    """A line of a table; ``aside`` marks one that explains the lines above it."""

    label: str
    cells: tuple[str, ...]
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text; ``notes`` say what the table lacks and why."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def interval(score: Score | None) -> str:
    """``0.930 ±.012``; without the second part where there is no interval."""
    if score is None or score.value is None:
        return f"-{POINT}"
    if score.corrected is None or score.low is None or score.high is None:
        return f"{score.value:.3f}{POINT}"
    half = max(score.corrected - score.low, score.high - score.corrected)
    return f"{number(score.corrected)} ±{f'{half:.3f}'.removeprefix('0')}"


def number(value: float, *, digits: int = 3) -> str:
    """With so many decimals and no minus sign before a zero."""
    return f"{value if abs(value) >= 0.5 * 10**-digits else 0.0:.{digits}f}"
