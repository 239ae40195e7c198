"""A checklist file of items: layout, rules, lint, and the value it builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_factorfair.benchmarks.items import checklist as values
from pytest_factorfair.benchmarks.items.checklist import (
    ANSWER,
    RESERVED,
    SAME,
    UNKNOWN,
    Condition,
    Items,
    MarkedOption,
    Valence,
)
from pytest_factorfair.checklist import lists
from pytest_factorfair.checklist.fields import (
    ONE_OR_MORE,
    ChecklistHeader,
    Distinct,
    Group,
    Id,
    Layout,
    Line,
    Text,
    hashed,
    spoken,
)
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem, unknown
from pytest_factorfair.checklist.selection import Selection, Selectors
from pytest_factorfair.checklist.source import Node, Step
from pytest_factorfair.domain import Attribute as AnswerAttribute
from pytest_factorfair.languages import language, words

MOST_OPTIONS = 26
"""The maximum number of options, one for each letter."""

FEW_CLUSTERS = 10
"""The number of clusters below which errors by cluster are unreliable."""


class Option(Layout):
    """An option of a question."""

    text: Line = Field(description="As printed behind its letter.")
    means: Line | None = Field(
        default=None,
        description="A declared group, unknown, same, different, or free words; by default its text.",
    )
    right: bool = Field(default=False, description="The correct answer.")
    stereotype: bool = Field(default=False, description="The answer that follows a stereotype.")
    favourable: bool = Field(
        default=False, description="The answer that benefits the people the item is about."
    )

    @property
    def meaning(self) -> str:
        """The meaning of the option, by default its text."""
        return self.text if self.means is None else self.means


CATEGORY = "items"
"""The category of items that name none."""

Groups = Annotated[list[Id], Distinct, ONE_OR_MORE]


class Item(Layout):
    """A question with options of its own."""

    id: Id
    condition: Condition = Field(
        description="fact or fairness (are groups distinguished where they should be?), or ambiguous or "
        "disambiguated (does the context say who it was?)."
    )
    context: str = Field(default="", description="A passage before the question.")
    question: Text
    options: list[Option] = Field(min_length=2, max_length=MOST_OPTIONS)
    cluster: Id | None = Field(
        default=None, description="Items with related errors, such as those of one template."
    )
    category: Id = Field(default=CATEGORY, description="A section of the checklist, with scores of its own.")
    groups: dict[Id, Groups] = Field(default={}, description="The groups it is about, by attribute.")
    valence: Valence | None = Field(
        default=None, description="Whether it is good (positive) or bad to be the answer."
    )


class Attribute(Layout):
    """A way to divide people into groups."""

    groups: dict[Id, Group] = Field(min_length=1)


class Checklist(ChecklistHeader):
    """factorfair checklist: questions with options of their own."""

    protocol: Literal["items"]
    modality: Literal["text"]
    answer_format: Text | None = Field(
        default=None, description="How to answer; by default as the language says."
    )
    attributes: dict[Id, Attribute] = Field(
        default={}, description="The groups that options and items can name."
    )
    items: list[Item] = Field(min_length=1)

    @property
    def spoken(self) -> dict[str, str]:
        """The group for each of its names, in lower case."""
        return {
            word.casefold(): name
            for attribute in self.attributes.values()
            for name, group in attribute.groups.items()
            for word in spoken(name, group)
        }


def ids(file: Checklist) -> Iterator[Problem]:
    """Items with the same id, options of one item with the same meaning."""
    indices: dict[str, int] = {}
    for index, item in enumerate(file.items):
        if indices.setdefault(item.id, index) != index:
            yield Problem(
                ("items", index, "id"), f"'{item.id}' is also the id of item {indices[item.id] + 1}"
            )
        meanings = Counter(option.meaning.casefold() for option in item.options)
        for number, option in enumerate(item.options):
            if meanings[option.meaning.casefold()] > 1:
                steps: tuple[Step, ...] = ("items", index, "options", number)
                yield Problem(steps, f"another option also means '{option.meaning}'; say what each means")
                break


def names(file: Checklist) -> Iterator[Problem]:
    """Undeclared groups, and groups with a reserved name."""
    for name, attribute in file.attributes.items():
        for group in attribute.groups:
            if group in RESERVED:
                text = f"'{group}' is reserved for options that name no group"
                yield Problem(("attributes", name, "groups", group), text)
    for index, item in enumerate(file.items):
        for name, groups in item.groups.items():
            steps = ("items", index, "groups", name)
            yield from unknown(name, file.attributes, "attribute", steps)
            for number, group in enumerate(groups if name in file.attributes else ()):
                yield from unknown(group, file.attributes[name].groups, "group", (*steps, number))


def called(file: Checklist) -> Iterator[Problem]:
    """Options with the name of a group as their text that do not mean a group."""
    groups = {group for attribute in file.attributes.values() for group in attribute.groups}
    for index, item in enumerate(file.items):
        for number, option in enumerate(item.options):
            owner = file.spoken.get(option.text.casefold())
            if owner is not None and option.meaning not in groups:
                text = (
                    f"'{option.text}' is the name of a group: "
                    f"it should mean '{owner}', not '{option.meaning}'"
                )
                yield Problem(("items", index, "options", number), text)


def answers(file: Checklist) -> Iterator[Problem]:
    """Items with several options of one mark, or without a right option where one is required."""
    for index, item in enumerate(file.items):
        steps = ("items", index, "options")
        for mark in ("right", "stereotype", "favourable"):
            if (count := sum(getattr(option, mark) for option in item.options)) > 1:
                yield Problem(steps, f"{count} options are marked {mark}; at most one may be")
        right = next((option for option in item.options if option.right), None)
        if right is None and item.condition != "fairness":
            yield Problem(steps, f"no option is marked right, which {item.condition} items require")
        elif right is None and not any(option.favourable for option in item.options):
            groups = {group for of_attribute in item.groups.values() for group in of_attribute}
            if not {option.meaning for option in item.options} <= groups:
                text = "no option is marked right or favourable, and not all are groups of the item"
                yield Problem(steps, f"{text}, so no metric uses the item")
        if item.condition == "ambiguous" and right is not None and right.meaning != UNKNOWN:
            text = f"the right answer to an ambiguous question must mean '{UNKNOWN}', not '{right.meaning}'"
            yield Problem(steps, text)


def texts(file: Checklist) -> Iterator[tuple[Step, ...]]:
    """The ways to the texts of prompts."""
    if file.answer_format is not None:
        yield ("answer_format",)
    for index, item in enumerate(file.items):
        keys = ("context", "question") if item.context else ("question",)
        yield from (("items", index, key) for key in keys)
        yield from (("items", index, "options", number, "text") for number in range(len(item.options)))


def findings(root: Node, file: Checklist) -> Iterator[Problem]:  # noqa: ARG001 - one signature
    """Findings of the linter in a valid checklist."""
    clusters = {item.cluster or item.id for item in file.items}
    if len(clusters) < FEW_CLUSTERS:
        yield Problem(("items",), f"has {len(clusters)} clusters; with so few, intervals are approximate")
    for index, item in enumerate(file.items):
        means = [option.meaning for option in item.options]
        if item.condition in ("ambiguous", "disambiguated") and UNKNOWN not in means:
            yield Problem(("items", index, "options"), f"no option means '{UNKNOWN}'")
        if item.condition == "fact" and SAME not in means:
            yield Problem(
                ("items", index, "options"), f"no option means '{SAME}': difference awareness skips it"
            )


def build(file: Checklist, truth: str) -> Items:
    """The checklist, the same under every truth set."""
    declared = dict.fromkeys(option.means for item in file.items for option in item.options if option.means)
    meanings = tuple(dict.fromkeys((*RESERVED, *declared)))
    return Items(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(AnswerAttribute(ANSWER, meanings, {meaning: meaning for meaning in meanings}, {}),),
        digest=hashed(file.model_dump(mode="json", by_alias=True)),
        items=tuple(
            values.Item(
                id=item.id,
                condition=item.condition,
                question=f"{item.context}\n{item.question}" if item.context else item.question,
                options=tuple(
                    MarkedOption(
                        option.text, option.meaning, option.right, option.stereotype, option.favourable
                    )
                    for option in item.options
                ),
                cluster=item.cluster or item.id,
                category=item.category,
                groups={name: tuple(groups) for name, groups in item.groups.items()},
                valence=item.valence,
            )
            for item in file.items
        ),
        answer_format=file.answer_format or words(language(file.language)).prompts.answer_format,
    )


def schema(reference: str) -> dict[str, Any]:
    """The layout's JSON Schema."""
    return lists.schema(Checklist.model_json_schema(ref_template=reference), "items")


SELECTORS: Selectors = {
    "items": lists.by_key("The items to ask, by id.", "items", "id"),
    "categories": lists.by_key("The categories of items to ask.", "items", "category", CATEGORY),
    "conditions": lists.by_key("The conditions of items to ask.", "items", "condition"),
}


def tiny(file: Checklist) -> Selection:
    """The first items of each category and condition."""
    items = ((item.id, (item.category, item.condition)) for item in file.items)
    return {"items": lists.first_of_strata(items)}


FILES: Files[Checklist, Items] = Files(
    layout=Checklist,
    rules=(ids, names, called, answers),
    build=build,
    lint=findings,
    schema=schema,
    selectors=SELECTORS,
    tiny=tiny,
    texts=texts,
)
