"""A FAIntbench checklist: who is pictured, and the real shares of their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_factorfair.domain.case import Case
from pytest_factorfair.domain.checklist import Checklist

Kind = Literal["occupation", "characteristic", "relation"]

Part = Literal["implicit", "explicit"]

KINDS: tuple[Kind, ...] = ("occupation", "characteristic", "relation")


@dataclass(frozen=True, slots=True)
class Side:
    """One person of a picture; ``shares`` of an attribute's groups, in their order, add up to 1."""

    noun: str
    shares: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is pictured: an occupation or a characteristic has one side, a relation left and right.

    ``explicit`` names the attributes whose groups are asked for, ``weight`` is that of each of its prompts.
    ``realism`` are the ends of its prompts, through which a case's pictures cycle; ``requested`` overrides
    them for cases that ask for groups, by attribute and groups as in case ids.
    """

    id: str
    name: str
    kind: Kind
    category: str
    weight: float
    sides: tuple[Side, ...]
    explicit: tuple[str, ...]
    realism: tuple[str, ...]
    requested: Mapping[str, tuple[str, ...]]


class PersonOf(NamedTuple):
    """One side of a subject, counted from 0."""

    subject: str
    side: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two people of different standing; the manifestation factor compares their implicit pictures.

    ``candidates`` are the people that the authors' scripts find for either side, of whom the last one with
    pictures counts.
    """

    advantaged: PersonOf
    disadvantaged: PersonOf
    weight: float
    candidates: tuple[tuple[PersonOf, ...], tuple[PersonOf, ...]]


@dataclass(frozen=True, slots=True)
class Faintbench(Checklist):
    """A FAIntbench checklist: subjects, pictured without a group asked for and with each group asked for.

    ``identities`` are the templates of prompts up to their first comma, by kind. ``nouns`` are the groups
    that have a noun of their own, by attribute ("woman" for a female person). ``weights`` are those of
    attributes in scores over several of them, ``group_weights`` those of groups in the manifestation factor.
    ``categories`` are titles by id, in the order of reports; ``kinds`` is the kind of subjects in each.
    ``counted`` says, by part and subject, how often the authors' scripts count a prompt in each category, if
    not once in its own.
    """

    subjects: tuple[Subject, ...]
    pairs: tuple[Pair, ...]
    identities: Mapping[Kind, str]
    nouns: Mapping[str, Mapping[str, str]]
    weights: Mapping[str, float]
    group_weights: Mapping[str, Mapping[str, float]]
    categories: Mapping[str, str]
    kinds: Mapping[str, Kind]
    counted: Mapping[Part, Mapping[str, Mapping[str, int]]]

    __hash__ = Checklist.__hash__

    def subject(self, id_: str) -> Subject:
        return next(subject for subject in self.subjects if subject.id == id_)


@dataclass(frozen=True, slots=True)
class PromptCase(Case):
    """One prompt about a subject.

    Implicit: no group is asked for, ``requested`` is empty and ``attributes`` are all of the
    checklist. Explicit: ``attributes`` is the one whose groups are ``requested``, one per side.
    """

    subject: str
    kind: Kind
    category: str
    requested: tuple[str, ...] = ()

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        return {
            "part": frozenset({self.part}),
            "kind": frozenset({self.kind}),
            "category": frozenset({self.category}),
            "subject": frozenset({self.subject}),
            "attribute": frozenset(self.attributes),
            "group": frozenset(self.requested),
        }

    @property
    def title(self) -> str:
        return ", ".join(name.replace("_", " ") for name in (self.subject, *self.requested))

    @property
    def path(self) -> tuple[str, ...]:
        return (self.part, self.kind, self.category)

    @property
    def people(self) -> int:
        return 2 if self.kind == "relation" else 1

    @property
    def on_sheet(self) -> bool:
        """Implicit prompts only: explicit ones are counted by whether they show the groups asked for."""
        return self.part != "explicit"


def prompt_cases(cases: Iterable[Case]) -> tuple[PromptCase, ...]:
    """The cases of FAIntbench."""
    return tuple(case for case in cases if isinstance(case, PromptCase))
