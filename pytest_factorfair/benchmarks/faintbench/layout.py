"""The file of a FAIntbench checklist: its layout as pydantic models, and the checklist it builds.

Constraints on single values are here, constraints between values in ``rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer

from pytest_factorfair.benchmarks.faintbench import checklist as values
from pytest_factorfair.benchmarks.faintbench.cases import PERSON
from pytest_factorfair.benchmarks.faintbench.checklist import KINDS, Faintbench, Kind, PersonOf, Subject
from pytest_factorfair.checklist.fields import (
    ONE_OR_MORE,
    ChecklistHeader,
    Distinct,
    Figure,
    Group,
    GroupName,
    Id,
    Layout,
    Line,
    Text,
    attribute,
    hashed,
)
from pytest_factorfair.checklist.selection import Selection, Selector, Selectors, subset
from pytest_factorfair.checklist.source import Node, Step

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Shares = Annotated[
    dict[Id, dict[Id, Figure]],
    Field(description="By attribute, each group's share; of what is left out, the attribute's own."),
]


class Class(Group):
    """A group: its words in prompts and its share among all people."""

    noun: Line | None = Field(default=None, description="Takes the place of 'person': 'woman'.")
    share: Figure = Field(description="Its share where a subject has none of its own.")
    weight: Weight = Field(description="Its weight in the manifestation factor.")


class Attribute(Layout):
    """A way to divide people into groups."""

    weight: Weight = Field(description="Its weight in a score over several attributes.")
    groups: dict[Id, Class] = Field(
        min_length=2, description="The groups by name, in the order reports show them."
    )


Realism = Annotated[
    list[Text],
    Field(min_length=1),
    ONE_OR_MORE,
    PlainSerializer(lambda texts: texts[0] if len(texts) == 1 else texts),
]
"""How people are to be pictured: one text, or several, which a case's pictures take in turn."""


class Prompt(Layout):
    """Identity and photorealism, which a comma joins."""

    identity: Text = Field(description="Who is to be pictured, without a comma.")
    realism: Realism = Field(description="How, for a picture like a photograph; of several, in turn.")


class Prompts(Layout):
    """The prompt of each kind of subject."""

    occupation: Prompt = Field(description="With {person}.")
    characteristic: Prompt = Field(description="With {adjective} and {person}.")
    relation: Prompt = Field(description="With {left}, {right} and {one}: 'another' beside an equal.")


class Categories(Layout):
    """Titles of categories by id, for each kind of subject."""

    occupation: dict[Id, Line]
    characteristic: dict[Id, Line]
    relation: dict[Id, Line]


class Figures(Layout):
    """How the groups of a person are distributed in reality."""

    shares: Shares = Field(default={})
    truths: dict[Id, Shares] = Field(default={}, description="What other truth sets say instead.")


People: TypeAlias = tuple[tuple[tuple[Step, ...], str, Figures], ...]
"""The people of a subject: the steps to each of them, the noun, and the figures."""


class SubjectFields(Layout):
    """Fields of subjects of every kind."""

    category: Id
    weight: Weight = Field(description="The weight of each of its prompts.")
    explicit: Annotated[list[Id], Distinct] | None = Field(
        default=None, description="The attributes whose groups are asked for; by default all."
    )
    realism: Realism | None = Field(default=None, description="Its own, instead of that of its kind.")
    requested: dict[str, Realism] = Field(
        default={},
        description="The same by groups that are asked for, as in case ids: age-young-elderly.",
    )


class Occupation(SubjectFields, Figures):
    """People by what they do."""

    name: GroupName
    noun: GroupName | None = Field(default=None, description="The name inside a prompt, where it is another.")

    @property
    def title(self) -> str:
        return self.name

    @property
    def distinctive(self) -> str:
        """The words that only prompts of this occupation have."""
        return self.noun or self.name

    @property
    def people(self) -> People:
        return (((), self.distinctive, self),)


class Characteristic(SubjectFields, Figures):
    """People by what they are like."""

    adjective: GroupName
    noun: GroupName = Field(PERSON, description="What the adjective is said of.")

    @property
    def title(self) -> str:
        return self.adjective

    @property
    def distinctive(self) -> str:
        return self.adjective

    @property
    def people(self) -> People:
        return (((), self.noun, self),)


class Side(Figures):
    """One of two people."""

    noun: GroupName


def _side(value: object) -> object:
    return {"noun": value} if isinstance(value, str) else value


class Relation(SubjectFields):
    """A relation between two people."""

    left: Annotated[Side, BeforeValidator(_side, json_schema_input_type=str | Side)]
    right: Annotated[Side, BeforeValidator(_side, json_schema_input_type=str | Side)]

    @property
    def title(self) -> str:
        return self.distinctive

    @property
    def distinctive(self) -> str:
        return f"{self.left.noun} and {self.right.noun}"

    @property
    def people(self) -> People:
        return (("left",), self.left.noun, self.left), (("right",), self.right.noun, self.right)


class Pair(Layout):
    """Two people of different standing: a subject, or a side of a relation as in 'employer_employee.left'."""

    advantaged: Text
    disadvantaged: Text
    weight: Weight
    truths: dict[Id, Weight] = Field(default={}, description="The weight in other truth sets.")


Times = Annotated[
    dict[Id, Annotated[int, Field(ge=1)]], Field(description="By category, how often a prompt counts there.")
]


class PairPeople(Layout):
    """The people found for the sides of a pair; by default the pair's own."""

    advantaged: list[Text] | None = None
    disadvantaged: list[Text] | None = None


class PublishedCode(Layout):
    """How the authors' scripts match names; only the estimator published-code uses it."""

    counted: dict[Id, Times] = Field(
        default={}, description="By subject; by default once, in the subject's own category."
    )
    explicit: dict[Id, Times] = Field(
        default={}, description="The same for explicit prompts, where it differs."
    )
    pairs: dict[Id, PairPeople] = Field(
        default={}, description="By pair; of several people the last with pictures counts."
    )


class Checklist(ChecklistHeader):
    """FAIntbench checklist: who is pictured, in which words, and who they are in reality."""

    protocol: Literal["faintbench"]
    modality: Literal["image"]
    truths: dict[Id, Text] = Field(min_length=1, description="The truth sets, and where each is from.")
    waivers: dict[Id, Text] = Field(
        default={}, description="Truth sets that may have negative shares, each with the reason."
    )
    attributes: dict[Id, Attribute] = Field(min_length=1)
    prompts: Prompts
    categories: Categories
    occupations: dict[Id, Occupation] = Field(default={}, description="By id, which is part of case ids.")
    characteristics: dict[Id, Characteristic] = Field(default={}, description="By id.")
    relations: dict[Id, Relation] = Field(default={}, description="By id.")
    pairs: dict[Id, Pair] = Field(default={}, description="What the manifestation factor compares.")
    published_code: PublishedCode = Field(default=PublishedCode.model_construct())

    @property
    def subjects(self) -> tuple[tuple[Kind, str, Occupation | Characteristic | Relation], ...]:
        """Every subject with its kind and id, in the order of cases."""
        return (
            *(("occupation", id_, subject) for id_, subject in self.occupations.items()),
            *(("characteristic", id_, subject) for id_, subject in self.characteristics.items()),
            *(("relation", id_, subject) for id_, subject in self.relations.items()),
        )


SECTIONS: dict[Kind, str] = {
    "occupation": "occupations",
    "characteristic": "characteristics",
    "relation": "relations",
}
"""The section of the file for subjects of each kind."""

TINY = 4
"""The number of subjects of each kind for a first look at a model."""


def _reduced(root: Node, keep: Callable[[Kind, str, Node], bool]) -> Node:
    """The file with some subjects, without pairs and published code that name others.

    Categories that lose all their subjects are left out.
    """
    removed, categories = set[str](), _categories(root)
    for kind, section in SECTIONS.items():
        names = {id_ for id_, subject in root.mapping(section).items() if keep(kind, id_, subject)}
        removed |= root.mapping(section).keys() - names
        root = root.changed((section,), partial(subset, names=names))

    def gone(person: Node) -> bool:
        return str(person.value).partition(".")[0] in removed

    def remaining(people: Node) -> Node:
        items = people.value if isinstance(people.value, tuple) else ()
        return replace(people, value=tuple(person for person in items if not gone(person)))

    unpaired = {
        id_
        for id_, pair in root.mapping("pairs").items()
        if any(gone(side) for key, side in pair.mapping().items() if key in ("advantaged", "disadvantaged"))
    }
    root = root.changed(("pairs",), lambda pairs: subset(pairs, pairs.keys() - unpaired))
    for key in ("counted", "explicit"):
        root = root.changed(("published_code", key), lambda times: subset(times, times.keys() - removed))
    lost = categories - _categories(root)
    for kind in KINDS:
        root = root.changed(("categories", kind), lambda titles: subset(titles, titles.keys() - lost))
    return root.changed(
        ("published_code", "pairs"),
        lambda pairs: {
            id_: pair.changed((), lambda sides: {side: remaining(people) for side, people in sides.items()})
            for id_, pair in subset(pairs, pairs.keys() - unpaired).items()
        },
    )


def _categories(root: Node) -> set[str]:
    """The categories that some subject is of, or is counted in by the published code."""
    subjects = (subject for section in SECTIONS.values() for subject in root.mapping(section).values())
    counted = (
        times for key in ("counted", "explicit") for times in root.mapping("published_code", key).values()
    )
    named = {str(of.value) for subject in subjects if (of := subject.mapping().get("category")) is not None}
    return named.union(*(times.mapping() for times in counted))


def _of_kind(selected: Kind) -> Selector:
    return Selector(
        f"The {SECTIONS[selected]} to picture, with their pairs.",
        lambda root: root.mapping(SECTIONS[selected]),
        lambda root, names: _reduced(root, lambda kind, id_, _: kind != selected or id_ in names),
    )


def _of_category(root: Node, names: Collection[str]) -> Node:
    return _reduced(
        root, lambda _, __, subject: (of := subject.mapping().get("category")) is None or of.value in names
    )


SELECTORS: Selectors = {
    **{SECTIONS[kind]: _of_kind(kind) for kind in KINDS},
    "categories": Selector(
        "The categories of subjects to picture, of all kinds.",
        lambda root: (id_ for kind in KINDS for id_ in root.mapping("categories", kind)),
        _of_category,
    ),
}


def tiny(file: Checklist) -> Selection:
    """The first subjects of each kind."""
    return {section: tuple(getattr(file, section))[:TINY] for section in SECTIONS.values()}


def truth_sets(file: Checklist) -> tuple[str, ...]:
    """The truth sets; each covers the whole checklist."""
    return tuple(file.truths)


def people_by_name(file: Checklist) -> dict[str, PersonOf]:
    """The people a pair can name, as it names them."""
    return {
        ".".join(map(str, (id_, *way))): PersonOf(id_, side)
        for _, id_, subject in file.subjects
        for side, (way, _, _) in enumerate(subject.people)
    }


def digest(file: Checklist) -> str:
    """The SHA-256 of the checklist's content under every truth set, in hexadecimal.

    Comments, layout, version, ``published_code`` and the order of shares do not change it. The order of
    groups, subjects and pairs does, because it shapes a run.
    """
    order = [
        *((name, *attribute.groups) for name, attribute in file.attributes.items()),
        [id_ for _, id_, _ in file.subjects],
        [*file.pairs],
    ]
    content = file.model_dump(mode="json", by_alias=True, exclude={"version", "published_code"})
    for section in SECTIONS.values():
        for subject in content[section].values():
            for name in ("realism", "requested"):  # few have any
                if not subject[name]:
                    del subject[name]
    return hashed([content, order])


def _pairs(file: Checklist, truth: str) -> Iterator[values.Pair]:
    """The pairs, with the people that the authors' scripts find for their sides."""
    people = people_by_name(file)
    for id_, pair in file.pairs.items():
        sides = pair.advantaged, pair.disadvantaged
        coded = file.published_code.pairs.get(id_, PairPeople())
        good, bad = (
            tuple(people[name] for name in (names if names is not None else [side]))
            for side, names in zip(sides, (coded.advantaged, coded.disadvantaged), strict=True)
        )
        weight = pair.truths.get(truth, pair.weight)
        yield values.Pair(people[sides[0]], people[sides[1]], weight, (good, bad))


def build(file: Checklist, truth: str) -> Faintbench:
    """The checklist under one truth set, which overrides the figures of the file."""
    coded = file.published_code

    def shares(figures: Figures) -> Mapping[str, Mapping[str, float]]:
        """A person's shares by attribute, in the order of its groups."""
        by_attribute = {**figures.shares, **figures.truths.get(truth, {})}
        return {
            name: {
                group: by_attribute[name][group] if name in by_attribute else declared.share
                for group, declared in attribute.groups.items()
            }
            for name, attribute in file.attributes.items()
        }

    subjects = (
        Subject(
            id=id_,
            name=subject.title,
            kind=kind,
            category=subject.category,
            weight=subject.weight,
            sides=tuple(values.Side(noun, shares(figures)) for _, noun, figures in subject.people),
            explicit=tuple(
                name for name in file.attributes if subject.explicit is None or name in subject.explicit
            ),
            realism=tuple(subject.realism or getattr(file.prompts, kind).realism),
            requested={asked: tuple(texts) for asked, texts in subject.requested.items()},
        )
        for kind, id_, subject in file.subjects
    )
    return Faintbench(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=tuple(attribute(name, declared.groups) for name, declared in file.attributes.items()),
        digest=digest(file),
        subjects=tuple(subjects),
        pairs=tuple(_pairs(file, truth)),
        identities={kind: getattr(file.prompts, kind).identity for kind in KINDS},
        nouns={
            name: {group: declared.noun for group, declared in attribute.groups.items() if declared.noun}
            for name, attribute in file.attributes.items()
        },
        weights={name: attribute.weight for name, attribute in file.attributes.items()},
        group_weights={
            name: {group: declared.weight for group, declared in attribute.groups.items()}
            for name, attribute in file.attributes.items()
        },
        categories={id_: title for kind in KINDS for id_, title in getattr(file.categories, kind).items()},
        kinds={id_: kind for kind in KINDS for id_ in getattr(file.categories, kind)},
        counted={"implicit": coded.counted, "explicit": {**coded.counted, **coded.explicit}},
    )
