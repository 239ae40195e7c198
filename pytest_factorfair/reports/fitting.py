"""A report cut to the size that a comment on a pull request may have, least important parts first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

MOST = 60_000
"""Bytes; GitHub takes 65,536 letters of a comment."""

RESERVED = 500
"""Bytes for the sentence that tells what was left out."""

ORDER = (
    "quotations",
    "links to contact sheets",
    "notes",
    "passed gates",
    "tables",
    "headlines",
    "changes",
    "gates that did not pass",
)
"""What passages are called, as they are cut: the first of them first."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a report: its head, lines and foot.

    ``name``, one of ``ORDER``, is given to what may be cut: from its last line on, or only ``whole``.
    ``joined`` goes on without a blank line.
    """

    head: str
    lines: tuple[str, ...] = ()
    foot: str = ""
    name: str = ""
    whole: bool = False
    joined: bool = False

    @property
    def text(self) -> str:
        """Empty if all lines of a passage that has a name were cut."""
        if self.name and not self.lines:
            return ""
        return "\n".join(part for part in (self.head, *self.lines, self.foot) if part)


def fitted(passages: Sequence[Passage]) -> str:
    """All passages as one text of less than ``MOST`` bytes, with a sentence about what it lacks.

    The first passage tells it; those without a name are kept as they are.
    """
    if _size(_joined(passages)) < MOST:
        return _joined(passages)
    kept = list(passages)
    for place in _places(passages):
        excess = _size(_joined(kept)) - (MOST - RESERVED)
        if excess > 0:
            kept[place] = _cut(kept[place], excess)
    lost = ", ".join(_lost(passages, kept))
    told = f"Left out to stay below {MOST // 1000} kB: {lost}. report.html and report.json have it all."
    return _joined([replace(kept[0], foot=f"\n{told}"), *kept[1:]])


def _places(passages: Sequence[Passage]) -> Iterator[int]:
    """Of the passages that may be cut; among those of one name the last first."""
    for name in ORDER:
        yield from (place for place in reversed(range(len(passages))) if passages[place].name == name)


def _cut(passage: Passage, excess: int) -> Passage:
    kept = len(passage.lines)
    while kept and excess > 0:
        kept -= 1
        excess -= _size(passage.lines[kept]) + 1
    return replace(passage, lines=() if passage.whole else passage.lines[:kept])


def _lost(passages: Sequence[Passage], kept: Sequence[Passage]) -> Iterator[str]:
    for name in ORDER:
        pairs = [(one, left) for one, left in zip(passages, kept, strict=True) if one.name == name]
        if lost := sum(_count(one) - _count(left) for one, left in pairs):
            yield f"{name} ({lost:,})"


def _count(passage: Passage) -> int:
    return min(len(passage.lines), 1) if passage.whole else len(passage.lines)


def _joined(passages: Sequence[Passage]) -> str:
    text = ""
    for passage in passages:
        if passage.text:
            blank = "" if not text else "\n" if passage.joined else "\n\n"
            text += blank + passage.text
    return text + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
