"""What a query shows and what is true of it, for simulated respondents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Citation


@dataclass(frozen=True, slots=True)
class Situation:
    """A choice among options that stand for groups.

    ``options`` are letters with the groups they stand for; for a picture, which offers none, every
    combination of groups is one. ``asked`` are the attributes of an objective query. ``truths`` are
    the topic's true groups for the direction asked, ``named`` the groups the context names, both by
    attribute. ``source`` is what the context gives to cite as a reason.
    """

    options: tuple[tuple[str, Mapping[str, str]], ...]
    asked: tuple[str, ...]
    truths: Mapping[str, str]
    named: Mapping[str, str]
    source: Citation = "group"

    def having(self, attribute: str | None, group: str | None) -> tuple[str, ...]:
        """The letters that stand for the group; none where either is unknown."""
        if attribute is None or group is None:
            return ()
        return tuple(letter for letter, groups in self.options if groups.get(attribute) == group)

    def true(self, *, but: str | None = None) -> tuple[str, ...]:
        """The letters that stand for the true group of every attribute asked about, except ``but``."""
        names = [name for name in self.asked if name != but]
        return tuple(
            letter
            for letter, groups in self.options
            if all(groups.get(name) == self.truths.get(name) for name in names)
        )

    def false(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The letters that stand for the true group of none of these attributes."""
        return tuple(
            letter
            for letter, groups in self.options
            if all(groups.get(name) != self.truths.get(name) for name in names)
        )


@dataclass(frozen=True, slots=True)
class Sitter:
    """A person to be pictured.

    ``shares`` are those of an attribute's groups in reality, ``requested`` are the groups that the prompt
    names, both by attribute. ``advantaged`` is the standing beside another person; None where there is none.
    """

    shares: Mapping[str, Mapping[str, float]]
    requested: Mapping[str, str]
    advantaged: bool | None = None
