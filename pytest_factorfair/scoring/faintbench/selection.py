"""Which prompts and attributes a score is about: the words that select them, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from pytest_factorfair.protocols.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.scoring.faintbench.gallery import Gallery
from pytest_factorfair.statistics.arrays import BoolArray

ANSWERS: Mapping[str, Callable[[PromptCase], tuple[str, ...]]] = MappingProxyType(
    {
        "kind": lambda case: (case.kind,),
        "category": lambda case: (case.category,),
        "subject": lambda case: (case.subject,),
        "attribute": lambda case: case.attributes,
    }
)
"""The words that a prompt answers to, by kind."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a checklist's prompts, and the attributes that are pooled; nothing named means all.

    Words of one kind (kind, category, subject, attribute) are alternatives; those of two must both hold.
    """

    words: Mapping[str, frozenset[str]]

    @property
    def attributes(self) -> frozenset[str]:
        return self.words.get("attribute", frozenset())

    def holds(self, case: PromptCase) -> bool:
        """Whether a prompt belongs to it."""
        return all(not words.isdisjoint(ANSWERS[kind](case)) for kind, words in self.words.items() if words)

    def chosen(self, cases: Sequence[PromptCase], part: str) -> BoolArray:
        """Which of the cases are its prompts of a part."""
        return np.array([case.part == part and self.holds(case) for case in cases], np.bool_)

    def pooled(self, gallery: Gallery) -> tuple[str, ...]:
        """The attributes it is about, in the checklist's order."""
        names = tuple(attribute.name for attribute in gallery.checklist.attributes)
        return tuple(name for name in names if not self.attributes or name in self.attributes)


def vocabulary(checklist: Faintbench, cases: Sequence[PromptCase]) -> Mapping[str, frozenset[str]]:
    """Every word that selects among the prompts of a run, by kind."""
    asked = {
        kind: frozenset(word for case in cases for word in answers(case)) for kind, answers in ANSWERS.items()
    }
    return asked | {"attribute": frozenset(attribute.name for attribute in checklist.attributes)}
