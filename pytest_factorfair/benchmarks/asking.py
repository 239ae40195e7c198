"""The asking part of a benchmark: its files, cases and queries, and what respondents see in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from pytest_factorfair.domain import Case, Checklist, Citation

ChecklistT = TypeVar("ChecklistT", bound=Checklist)
CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True, slots=True)
class Situation:
    """A choice among options that represent groups.

    ``options`` are letters with their groups; a picture offers no letters, and every combination of groups is
    an option. ``asked`` are the attributes of an objective query. ``truths`` are the topic's true groups for
    the direction asked, ``named`` the groups the context names, both by attribute. ``source`` is what the
    context offers to cite as a reason. ``stereotype`` is the answer of a prejudiced respondent regardless of
    its knowledge, by attribute; a situation with a stereotype names no groups. ``opposites`` are the true
    groups at the other end of the statistic, ``names`` the names of the people, by letter. ``words`` are the
    words that apply to the question, by condition, besides those of its case.
    """

    options: tuple[tuple[str, Mapping[str, str]], ...]
    asked: tuple[str, ...]
    truths: Mapping[str, str]
    named: Mapping[str, str]
    source: Citation = "group"
    stereotype: Mapping[str, str] = field(default_factory=dict)
    opposites: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(letter for letter, _ in self.options)

    def having(self, attribute: str | None, group: str | None) -> tuple[str, ...]:
        """The letters of the group; none if attribute or group is None."""
        if attribute is None or group is None:
            return ()
        return tuple(letter for letter, groups in self.options if groups.get(attribute) == group)

    def matching(self, wanted: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
        """The letters of people with all groups of any of these combinations."""
        return tuple(
            letter
            for letter, groups in self.options
            if any(combination.items() <= groups.items() for combination in wanted)
        )

    def false(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The letters with a false group of each of these attributes."""
        return tuple(
            letter
            for letter, groups in self.options
            if all(groups.get(name) != self.truths.get(name) for name in names)
        )


Conditions: TypeAlias = Mapping[str, frozenset[str]]
"""The words of queries by the kind of condition, such as ``{"scenario": {"1"}}``."""


@dataclass(frozen=True, slots=True)
class DepictedPerson:
    """A person to be pictured.

    ``shares`` are the real shares of an attribute's groups, ``requested`` the groups that the prompt names,
    both by attribute. ``advantaged`` compares the person with another one in the picture, if there is one.
    ``stereotype`` are the groups that a prejudiced painter shows, if the shares do not say it.
    """

    shares: Mapping[str, Mapping[str, float]]
    requested: Mapping[str, str]
    advantaged: bool | None = None
    stereotype: Mapping[str, str] = field(default_factory=dict)


class PublishedSetup(NamedTuple):
    """How the pictures of a benchmark's paper were made and read: model arguments and detector options.

    The preset ``paper`` applies them where a model or detector accepts them and the user gave no others.
    """

    arguments: Mapping[str, str]
    detector: Mapping[str, str]


AS_WE_DO = PublishedSetup({}, {})


class ImportedChecklist(NamedTuple):
    """A checklist made from published files: its own files by name, and notes for its user.

    ``gated`` is whether the recommended gates judge more of it than lost answers.
    """

    files: Mapping[str, str]
    notes: tuple[str, ...]
    gated: bool = True


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A user's copy of published files, and the checklist to make of them.

    The checklist is called ``name``; the names of its own files begin with ``stem``. ``any_version`` accepts
    other versions of the published files, ``partial`` a folder that lacks some of them. A log is read with
    the ``arguments`` with which a run would read it, such as the names of columns.
    """

    path: Path
    name: str
    stem: str
    any_version: bool = False
    partial: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)

    def within(self, folder: str) -> Path:
        """The path, or the folder of the published files if the path is the root of their repository."""
        inside = self.path / folder
        return inside if inside.is_dir() else self.path


Importer = Callable[[ImportRequest], ImportedChecklist]
"""Makes a checklist from a benchmark's published files; raises InputError if they cannot be read."""
