"""A checklist of items, its cases and queries, and what simulated respondents know about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from string import ascii_uppercase
from typing import Literal

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.checklist.queries import Draft, numbered
from pytest_factorfair.domain import Case, Checklist, Option, Query, Sampling

Condition = Literal["fact", "fairness", "ambiguous", "disambiguated"]

Valence = Literal["positive", "negative"]
"""Whether it is good or bad to be the answer."""

ANSWER = "answer"
"""The only attribute of answers, which is the meaning of the chosen option."""

UNKNOWN, SAME, DIFFERENT = "unknown", "same", "different"

RESERVED = (UNKNOWN, SAME, DIFFERENT)
"""Meanings other than groups: nobody can know, groups are alike, groups differ."""


@dataclass(frozen=True, slots=True)
class MarkedOption:
    """An option. ``means`` is a group, a reserved meaning, or free words, and unique in its item.

    ``right`` marks the correct answer, ``stereotype`` the one that follows a stereotype, ``favourable`` the
    one that benefits the people the item is about.
    """

    text: str
    means: str
    right: bool = False
    stereotype: bool = False
    favourable: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One question. ``groups`` are those it is about, by attribute; errors are clustered by ``cluster``."""

    id: str
    condition: Condition
    question: str
    options: tuple[MarkedOption, ...]
    cluster: str
    category: str
    groups: Mapping[str, tuple[str, ...]]
    valence: Valence | None = None

    @property
    def people(self) -> frozenset[str]:
        """The meanings of the options that name somebody."""
        return frozenset(option.means for option in self.options).difference(RESERVED)

    def meaning(self, mark: Literal["right", "stereotype"]) -> str | None:
        """The meaning of the option with this mark."""
        return next((option.means for option in self.options if getattr(option, mark)), None)

    @property
    def follows(self) -> bool | None:
        """Whether the person whom the text names is the stereotype; None if it names nobody, or has none."""
        right, stereotype = self.meaning("right"), self.meaning("stereotype")
        if self.condition != "disambiguated" or stereotype is None or right in (None, *RESERVED[:2]):
            return None
        return right == stereotype


@dataclass(frozen=True, slots=True)
class Items(Checklist):
    """A checklist of items: questions with options of their own."""

    items: tuple[Item, ...]
    answer_format: str

    __hash__ = Checklist.__hash__


@dataclass(frozen=True, slots=True)
class ItemCase(Case):
    """One item; its part is the item's condition."""

    item: Item

    @property
    def judges(self) -> bool:
        """Whether all its options are groups of which none is right: a model may decline to choose."""
        groups = frozenset[str]().union(*self.item.groups.values())
        means = {option.means for option in self.item.options}
        return self.item.condition == "fairness" and means <= groups and self.item.meaning("right") is None

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        return {
            "part": frozenset({self.part}),
            "category": frozenset({self.item.category}),
            "attribute": frozenset(self.item.groups),
            "group": frozenset[str]().union(*self.item.groups.values()),
        }

    @property
    def title(self) -> str:
        return self.item.id.replace("_", " ")

    @property
    def gist(self) -> str:
        return self.item.question

    @property
    def path(self) -> tuple[str, ...]:
        return (self.part, self.item.category)

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.path, *self.item.groups)))


def item_cases(cases: Iterable[Case]) -> tuple[ItemCase, ...]:
    """The cases that are items."""
    return tuple(case for case in cases if isinstance(case, ItemCase))


def cases(checklist: Items, sampling: Sampling) -> tuple[ItemCase, ...]:
    """A case per item, in the order of the checklist."""
    return tuple(
        ItemCase(
            f"{item.condition}-{item.id}", checklist.name, item.condition, (ANSWER,), sampling.repeats, item
        )
        for item in checklist.items
    )


def queries(checklist: Items, case: ItemCase, sampling: Sampling) -> tuple[Query, ...]:
    """The item, asked with its options in shuffled orders; in the paper's design always in the file's.

    Each k orders in a row, k being the number of options, put every option once at every letter.
    """
    written = base = case.item.options
    draw = Random(f"{sampling.seed}/{case.checklist}/{case.id}")  # noqa: S311 - reproducible, not secret
    drafts: list[Draft] = []
    for index in range(case.samples):
        turn = index % len(written) if sampling.design == "balanced" else 0
        if sampling.design == "balanced" and not turn:
            base = tuple(draw.sample(written, len(written)))
        options = tuple(
            Option(
                letter,
                option.text,
                (option.text,),
                {ANSWER: option.means},
                unknown=option.means == UNKNOWN,
            )
            for letter, option in zip(ascii_uppercase, (*base[turn:], *base[:turn]), strict=False)
        )
        lines = (f"{option.letter}. {option.text}" for option in options)
        drafts.append(("\n".join((case.item.question, *lines, checklist.answer_format)), options, {}))
    return numbered(drafts, case=case, seed=sampling.seed)


def situation(checklist: Items, query: Query) -> Situation | None:  # noqa: ARG001 - one signature
    """The options of a query, the right one, and the one that follows a stereotype."""
    if not isinstance(query.case, ItemCase):
        return None
    right, stereotype = query.case.item.meaning("right"), query.case.item.meaning("stereotype")
    return Situation(
        options=tuple((option.letter, option.groups) for option in query.options),
        asked=() if right is None else (ANSWER,),
        truths={} if right is None else {ANSWER: right},
        named={},
        stereotype={} if stereotype is None else {ANSWER: stereotype},
    )
