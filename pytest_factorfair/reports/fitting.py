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
"""What sections are called, as they are cut: the first of them first."""


@dataclass(frozen=True, slots=True)
class Section:
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
        """Empty if all lines of a section that has a name were cut."""
        if self.name and not self.lines:
            return ""
        return "\n".join(part for part in (self.head, *self.lines, self.foot) if part)


def fitted(sections: Sequence[Section]) -> str:
    """All sections as one text of less than ``MOST`` bytes, with a sentence about what it lacks.

    The first section tells it; those without a name are kept as they are.
    """
    if _size(_joined(sections)) < MOST:
        return _joined(sections)
    kept = list(sections)
    for place in _places(sections):
        excess = _size(_joined(kept)) - (MOST - RESERVED)
        if excess > 0:
            kept[place] = _cut(kept[place], excess)
    lost = ", ".join(_lost(sections, kept))
    told = f"Left out to stay below {MOST // 1000} kB: {lost}. report.html and report.json have it all."
    return _joined([replace(kept[0], foot=f"\n{told}"), *kept[1:]])


def _places(sections: Sequence[Section]) -> Iterator[int]:
    """Of the sections that may be cut; among those of one name the last first."""
    for name in ORDER:
        yield from (place for place in reversed(range(len(sections))) if sections[place].name == name)


def _cut(section: Section, excess: int) -> Section:
    kept = len(section.lines)
    while kept and excess > 0:
        kept -= 1
        excess -= _size(section.lines[kept]) + 1
    return replace(section, lines=() if section.whole else section.lines[:kept])


def _lost(sections: Sequence[Section], kept: Sequence[Section]) -> Iterator[str]:
    for name in ORDER:
        pairs = [(one, left) for one, left in zip(sections, kept, strict=True) if one.name == name]
        if lost := sum(_count(one) - _count(left) for one, left in pairs):
            yield f"{name} ({lost:,})"


def _count(section: Section) -> int:
    return min(len(section.lines), 1) if section.whole else len(section.lines)


def _joined(sections: Sequence[Section]) -> str:
    text = ""
    for section in sections:
        if section.text:
            blank = "" if not text else "\n" if section.joined else "\n\n"
            text += blank + section.text
    return text + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
