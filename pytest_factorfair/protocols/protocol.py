"""The interface of a benchmark: from its files to cases, queries and scores, and what respondents see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from pytest_factorfair.domain import Case, Checklist, Citation, Query, Sampling

if TYPE_CHECKING:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.measuring import Measuring
    from pytest_factorfair.protocols.reporting import Reporting

Value = TypeVar("Value", bound=Checklist)
Entry = TypeVar("Entry", bound=Case)


@dataclass(frozen=True, slots=True)
class Situation:
    """A choice among options that represent groups.

    ``options`` are letters with their groups; a picture offers no letters, and every combination of groups is
    an option. ``asked`` are the attributes of an objective query. ``truths`` are the topic's true groups for
    the direction asked, ``named`` the groups the context names, both by attribute. ``source`` is what the
    context offers to cite as a reason. ``stereotype`` is the answer of a prejudiced respondent regardless of
    its knowledge, by attribute; a situation with a stereotype names no groups. ``opposites`` are the true
    groups at the other end of the statistic, ``names`` the names of the people, by letter. ``words`` are the
    words that hold of the question, by condition, besides those of its case.
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
    """

    shares: Mapping[str, Mapping[str, float]]
    requested: Mapping[str, str]
    advantaged: bool | None = None


class Published(NamedTuple):
    """How the pictures of a benchmark's paper were made and read: model arguments and detector options.

    The preset ``paper`` applies them where a model or detector accepts them and the user gave no others.
    """

    arguments: Mapping[str, str]
    detector: Mapping[str, str]


AS_WE_DO = Published({}, {})


class Imported(NamedTuple):
    """A checklist made from published files: its own files by name, and notes for its user."""

    files: Mapping[str, str]
    notes: tuple[str, ...]


Importer = Callable[[Path, str, bool], Imported]
"""Makes a checklist from a benchmark's published files.

It takes their path, the name of the new checklist, and whether other versions of the files are accepted,
and raises InputError for files that cannot be read.
"""


@dataclass(frozen=True, slots=True)
class Protocol(Generic[Value, Entry]):
    """A benchmark: its files, the checklist they build, and the cases that a checklist expands to.

    ``checklist`` is the class of its values. ``files`` imports what reads them; a process that receives the
    value does not need it. ``cases`` and ``queries`` are the same on every machine. ``notices`` reports every
    size that was adjusted. ``situation`` is what simulated respondents see in a query, and the truth;
    None if they cannot tell. ``conditions`` are the words that may hold of a query, by condition: a
    mapping for each kind of query; None if they are the words of its case. ``explained`` is the query
    that asks for a choice and the reason, if any; ``citable`` names what a reason may cite. ``people`` is
    how many people the pictures of a case show, None if anyone may be in them, ``on_sheet`` whether they
    have a contact sheet. ``reporting`` imports what only this benchmark prints, ``published`` is how its
    paper's pictures were made and read, and ``importers`` makes checklists from other benchmarks'
    published files, by name.
    """

    name: str
    checklist: type[Value]
    files: Callable[[], Files[Any, Value]]
    cases: Callable[[Value, Sampling], tuple[Entry, ...]]
    queries: Callable[[Value, Entry, Sampling], tuple[Query, ...]]
    notices: Callable[[Value, Sampling], tuple[str, ...]]
    measuring: Callable[[], Measuring[Any, Any]]
    situation: Callable[[Value, Query], Situation | tuple[DepictedPerson, ...] | None] = lambda *_: None
    conditions: Callable[[Value], Iterable[Conditions]] | None = None
    explained: Callable[[Value, Entry, Sampling], Query | None] = lambda *_: None
    citable: Callable[[Value], tuple[str, ...]] = lambda *_: ()
    people: Callable[[Value, Entry], int | None] = lambda *_: None
    on_sheet: Callable[[Value, Entry], bool] = lambda *_: True
    reporting: Callable[[], Reporting] = lambda: resolve_name("pytest_factorfair.protocols.reporting:NOTHING")
    published: Published = AS_WE_DO
    importers: Callable[[], Mapping[str, Importer]] = dict
