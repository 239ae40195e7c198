"""What a reply claims to be its answer, and which claims count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pytest_factorfair.reading.outcomes import NOTHING


class Level(IntEnum):
    """How a claim is made, the plainest first."""

    FORMAL = 0  # the JSON asked for, "Final answer: B", a LaTeX box
    STATED = 1  # "Answer: B", "I would choose B", "Therefore B", a first or last line that is only "B"
    BARE = 2  # a sentence that is nothing but an option: "Probably Alex."
    PREDICATE = 3  # "Alex seems most likely", "the highest rate is found among Hispanics"
    HEDGED = 4  # "Alex might be the one"; counts only where no other option is spoken of


@dataclass(frozen=True, slots=True)
class Claim:
    """Letters claimed at one place of the cleaned text."""

    level: Level
    start: int
    end: int
    letters: frozenset[str]


def counted(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims that decide: those of the plainest level present.

    What is stated after the last formal claim counts with the formal ones, for it may take them back.
    """
    for level in (Level.FORMAL, Level.STATED, Level.BARE, Level.PREDICATE):
        found = [claim for claim in claims if claim.level is level]
        if found and level is Level.FORMAL:
            last = max(claim.end for claim in found)
            found += [claim for claim in claims if claim.level is Level.STATED and claim.start >= last]
        if found:
            return tuple(found)
    return ()


def letters(claims: Iterable[Claim]) -> frozenset[str]:
    """All letters the claims name."""
    return NOTHING.union(*(claim.letters for claim in claims))
