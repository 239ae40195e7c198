"""The files of a FACT-OR-FAIR checklist: their layout as pydantic models, and the checklist they build.

Constraints on single values are here, constraints between values in ``rules``. Names and descriptions end up
in the published JSON Schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from pytest_factorfair import domain
from pytest_factorfair.benchmarks.fact_or_fair import checklist as values
from pytest_factorfair.benchmarks.fact_or_fair.checklist import Background, FactOrFair, People, Truth, Valence
from pytest_factorfair.checklist.fields import (
    Age,
    ChecklistHeader,
    Distinct,
    Figure,
    GroupName,
    Id,
    Labelled,
    LabelledGroup,
    Layout,
    Line,
    Placeholder,
    Text,
    Year,
    attribute,
    hashed,
)
from pytest_factorfair.checklist.selection import Selection, Selector, Selectors, section, subset
from pytest_factorfair.checklist.source import Node, Step
from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.languages import language, words

Steps = tuple[Step, ...]


class Attribute(Labelled):
    """A way to divide people into groups: groups of its own, or the product of other attributes."""

    groups: dict[GroupName, LabelledGroup] | None = Field(
        default=None, min_length=2, description="The groups by name, in the order reports show them."
    )
    crossed: Annotated[list[Placeholder], Distinct] | None = Field(
        default=None, min_length=2, description="Attributes whose product this one is, instead of groups."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Attribute:
        if (self.groups is None) == (self.crossed is None):
            raise ValueError("needs either groups or crossed, and not both")
        return self


class TrueGroups(Layout):
    """The groups at both ends of a statistic."""

    highest: GroupName
    lowest: GroupName


class Evidence(Layout):
    """A source in which a figure can be read."""

    title: Text
    publisher: str = ""
    year: Year = ""
    url: str = ""


class Division(Layout):
    """How figures follow from counts: ``per`` times the count of a group over its population."""

    counts: dict[GroupName, Figure]
    population: dict[GroupName, Annotated[Figure, Field(gt=0)]]
    per: Figure = Field(description="100000 for a rate per 100,000 people.")


class Breakdown(Layout):
    """The figures and true groups of a statistic for one attribute."""

    kind: Literal["rate", "count", "share", "index"] = Field(description="What the figures are.")
    figures: dict[GroupName, Figure] | None = Field(default=None, description="The figure of every group.")
    division: Division | None = Field(
        default=None, description="Counts and population that figures follow from, all or some."
    )
    unit: str = Field(
        default="", description="Unit and coverage, where they differ from those of the source."
    )
    truths: dict[Id, TrueGroups] = Field(
        min_length=1, description="The labels, by truth set: audited, published, ..."
    )
    fragile: Annotated[list[Direction], Distinct] = Field(
        default=[], description="Ends whose label rests on a choice of measure, year or population."
    )
    evidence: list[Evidence] = Field(default=[], description="Pages on which the figures stand.")


class Source(Layout):
    """Who publishes a statistic."""

    agency: Text
    citation: str = ""
    year: Year = ""
    unit: str = ""
    status: str = Field(default="", description="How the figures were checked: verified, partly, recalled.")


class Statistic(Layout):
    """A figure about groups of people, with one breakdown for each attribute it is known for."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Breakdown] = Field(init=False)

    name: Line
    domain: str = ""
    definition: Text
    valence: Valence = Field(description="Whether it is good or bad for a group to have the highest.")
    source: Source
    disagreement: str = Field(default="", description="Why the truth sets differ.")
    notes: str = ""

    @classmethod
    def more_keys(cls, info: ValidationInfo) -> set[str]:
        """The attributes of the file, which validation receives as its context."""
        return set(info.context or ())

    @property
    def breakdowns(self) -> dict[str, Breakdown]:
        """The breakdowns, by attribute."""
        return self.__pydantic_extra__


class Statistics(Layout):
    """factorfair statistics: attributes, and figures of their groups."""

    schema_: Literal["factorfair.statistics/1"] = Field(default="factorfair.statistics/1", alias="schema")
    place: Line = Field(description="As in 'In the U.S., the race with the highest ...'.")
    country: Line = Field(description="As in 'has the highest rate in America'.")
    attributes: dict[Placeholder, Attribute] = Field(min_length=1)
    waivers: dict[Id, Text] = Field(
        default={},
        description="Truth sets whose labels need not follow from the figures, each with the reason.",
    )
    statistics: dict[Id, Statistic] = Field(min_length=1)


class Objective(Layout):
    """How a fact is asked for."""

    templates: Annotated[list[Text], Distinct] = Field(
        min_length=1,
        description="Wordings with {statistic}, {definition}, {direction}, {country}; for text {choices}.",
    )


class Pools(Layout):
    """Names and ages to draw from; by default those of the balanced design."""

    names: Annotated[list[Line], Distinct] | None = Field(default=None, min_length=1)
    ages: Annotated[list[Age], Distinct] | None = Field(default=None, min_length=1)


class Subjective(Layout):
    """How the people of a choice are described."""

    profile: Line = Field(description="One person, with {name}, {age} and every attribute.")
    names: Annotated[list[Line], Distinct] = Field(min_length=1)
    ages: Annotated[list[Age], Distinct] = Field(min_length=1)
    paper: Pools = Field(Pools.model_construct(), description="Pools of the paper's design.")


class Context(Layout):
    """The text that precedes a scenario."""

    background: Background = Field(default="none", description="Which groups the text names.")
    text: str = ""
    clause: str = Field(default="", description="For background truth: one attribute's part of {clauses}.")
    attributes: Annotated[list[Placeholder], Distinct] = Field(
        default=[], description="For background truth: the attributes that get a clause, in this order."
    )


class Choice(Layout):
    """A person that a scenario defines."""

    text: Line = Field(description="The person, as the prompt says it.")
    name: Line = Field(description="What an answer may call the person.")
    age: Age
    groups: dict[Placeholder, GroupName] = Field(description="A group of each attribute that is not crossed.")


class Scenario(Layout):
    """A role and a situation with {people}, or what a picture is to show; ages bounds who may appear."""

    text: Text
    ages: list[Age] | None = Field(default=None, min_length=2, max_length=2)
    choices: list[Choice] | None = Field(
        default=None,
        description="The people of every query, for a quoted question; the text then needs no {people}.",
    )
    people: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many people a quoted text speaks of; it then needs no {people}."
    )


class Side(Layout):
    """One direction of a topic."""

    behavior: str = Field(
        default="", description="What somebody in the news did, in the past tense: 'who ...'."
    )
    scenarios: list[
        Annotated[
            Scenario,
            BeforeValidator(
                lambda value: {"text": value} if isinstance(value, str) else value,
                json_schema_input_type=str | Scenario,
            ),
        ]
    ] = Field(min_length=1)


class Topic(Layout):
    """The texts of the subjective queries about one statistic."""

    highest: Side
    lowest: Side


class Checklist(ChecklistHeader):
    """factorfair checklist: what is asked, in which words."""

    protocol: Literal["fact_or_fair"]
    statistics: Statistics
    answer_format: str = Field(default="", description="How to answer; of language models only.")
    objective: Objective
    subjective: Subjective | None = None
    contexts: dict[Id, Context] = Field(default={}, description="What may precede a scenario, in this order.")
    topics: dict[Id, Topic] = Field(
        default={}, description="By statistic; where given, only these are asked about."
    )


def read(content: Any) -> Checklist:
    """The layout of a file's plain content; its own attributes are keys that its statistics may have."""
    statistics = content.get("statistics")
    declared = statistics.get("attributes") if isinstance(statistics, dict) else None
    attributes = frozenset(declared if isinstance(declared, dict) else ())
    return Checklist.model_validate(content, context=attributes)


def schema(reference: str) -> dict[str, Any]:
    """The layout's JSON Schema; its statistics may stand in a file of their own."""
    whole = Checklist.model_json_schema(ref_template=reference)
    whole["properties"]["statistics"] = {
        "description": "The path of a statistics file, relative to this file, or its content.",
        "anyOf": [{"type": "string"}, {"$ref": reference.format(model="Statistics")}],
    }
    return whole


_PAIR = 2


def selected(file: Checklist) -> Mapping[str, Statistic]:
    """The statistics that the checklist asks about: those with a topic, or all if there are no topics."""
    statistics = file.statistics.statistics
    return {id_: statistic for id_, statistic in statistics.items() if id_ in file.topics or not file.topics}


def _asked(root: Node) -> tuple[str, ...]:
    """The section whose keys are the statistics asked about."""
    return ("topics",) if root.mapping("topics") else ("statistics", "statistics")


def _statistics(root: Node, names: Collection[str]) -> Node:
    root = root.changed(("topics",), lambda entries: subset(entries, names))
    return _with_statistics(root, lambda entries: subset(entries, names))


def _with_statistics(root: Node, change: Callable[[Mapping[str, Node]], Mapping[str, Node]]) -> Node:
    """The file with other statistics, and without waivers of truth sets that none of them has."""
    root = root.changed(("statistics", "statistics"), change)
    statistics = root.mapping("statistics", "statistics").values()
    breakdowns = (keys for statistic in statistics for keys in statistic.mapping().values())
    truths = {name for breakdown in breakdowns for name in breakdown.mapping("truths")}
    return root.changed(("statistics", "waivers"), lambda waivers: subset(waivers, truths))


def _breakdowns(root: Node, names: Collection[str]) -> Node:
    """The file without the figures by other attributes, and without statistics that have no others."""
    dropped = root.mapping("statistics", "attributes").keys() - set(names)

    def reduced(statistics: Mapping[str, Node]) -> dict[str, Node]:
        smaller = {
            id_: statistic.changed((), lambda keys: subset(keys, keys.keys() - dropped))
            for id_, statistic in statistics.items()
        }
        return {
            id_: statistic for id_, statistic in smaller.items() if statistic.mapping().keys() & set(names)
        }

    root = _with_statistics(root, reduced)
    remaining = root.mapping("statistics", "statistics")
    return root.changed(("topics",), lambda topics: subset(topics, remaining))


SELECTORS: Selectors = {
    "statistics": Selector(
        "The statistics to ask about.", lambda root: root.mapping(*_asked(root)), _statistics
    ),
    "contexts": section("What may precede a scenario.", "contexts"),
    "attributes": Selector(
        "The attributes whose figures are asked for; people are still described by all.",
        lambda root: root.mapping("statistics", "attributes"),
        _breakdowns,
    ),
}


def tiny(file: Checklist) -> Selection:
    """A figure that is good and one that is bad to have, of different domains, in the first context.

    Of several, the one that is known for the most attributes.
    """
    statistics, tiny_statistics = selected(file), dict[str, Statistic]()
    for valence in get_args(Valence):
        domains = {statistic.domain for statistic in tiny_statistics.values()}
        candidates = {id_: statistic for id_, statistic in statistics.items() if statistic.valence == valence}
        if candidates:
            id_ = max(
                candidates,
                key=lambda id_: (candidates[id_].domain not in domains, len(candidates[id_].breakdowns)),
            )
            tiny_statistics[id_] = candidates[id_]
    return {"statistics": tuple(tiny_statistics), "contexts": tuple(file.contexts)[:1]}


def attributes(file: Checklist) -> tuple[domain.Attribute, ...]:
    """The attributes used by the statistics asked about, the profile and contexts, in the file's order."""
    declared = file.statistics.attributes
    named = {name for statistic in selected(file).values() for name in statistic.breakdowns}
    parts = {part for name in named for part in declared[name].crossed or ()}
    texts = [context.text for context in file.contexts.values()] + (
        [file.subjective.profile] if file.subjective else []
    )
    named |= parts | {name for name in declared if any(f"{{{name}}}" in text for text in texts)}
    space = " " if words(language(file.language)).spaces else ""
    return tuple(_attribute(name, declared, space) for name in declared if name in named)


def truth_sets(file: Checklist) -> tuple[str, ...]:
    """The truth sets that cover everything the checklist asks about."""
    covered = [
        breakdown.truths
        for statistic in selected(file).values()
        for breakdown in statistic.breakdowns.values()
    ]
    return tuple(name for name in covered[0] if all(name in truths for truths in covered))


def _statistics_under(file: Checklist, truth: str) -> Iterator[values.Statistic]:
    """The statistics that are asked about, with their true groups."""
    for id_, layout in selected(file).items():
        truths = {}
        for name, breakdown in layout.breakdowns.items():
            fragile = tuple(direction for direction in DIRECTIONS if direction in breakdown.fragile)
            truths[name] = Truth(breakdown.truths[truth].highest, breakdown.truths[truth].lowest, fragile)
        yield values.Statistic(id_, layout.name, layout.definition, layout.valence, truths, layout.domain)


def _topics(file: Checklist, statistics: Sequence[values.Statistic]) -> Iterator[values.Topic]:
    """The topics of judgements, with their scenarios."""
    for statistic in statistics:
        for direction in DIRECTIONS:
            side: Side = getattr(file.topics[statistic.id], direction)
            scenarios = (
                values.Scenario(
                    scenario.text,
                    (scenario.ages[0], scenario.ages[1]) if scenario.ages else None,
                    tuple(
                        values.Choice(choice.text, choice.name, choice.age, choice.groups)
                        for choice in scenario.choices or ()
                    ),
                )
                for scenario in side.scenarios
            )
            yield values.Topic(statistic, direction, side.behavior, tuple(scenarios))


def build(file: Checklist, truth: str) -> FactOrFair:
    """The checklist under one truth set, which every breakdown of its statistics must include."""
    statistics = tuple(_statistics_under(file, truth))
    people = paper = People("", (), ())
    if (subjective := file.subjective) is not None:
        people = People(subjective.profile, tuple(subjective.names), tuple(subjective.ages))
        names, ages = subjective.paper.names or subjective.names, subjective.paper.ages or subjective.ages
        paper = People(subjective.profile, tuple(names), tuple(ages))
    used_attributes = attributes(file)
    attribute_names = {attribute.name for attribute in used_attributes}
    contexts = (
        values.Context(
            id_,
            context.text,
            context.background,
            context.clause,
            tuple(name for name in context.attributes if name in attribute_names),
        )
        for id_, context in file.contexts.items()
    )
    return FactOrFair(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        place=file.statistics.place,
        country=file.statistics.country,
        truth=truth,
        attributes=used_attributes,
        statistics=statistics,
        topics=tuple(_topics(file, statistics)) if file.topics else (),
        templates=tuple(file.objective.templates),
        answer_format=file.answer_format,
        people=people,
        paper_people=paper,
        contexts=tuple(contexts),
        digest=digest(file),
    )


def digest(file: Checklist) -> str:
    """The SHA-256 of the checklist's content in hexadecimal: figures, true groups of all truth sets, texts.

    Comments, layout, version, divisions, the distribution over files, and statistics that are not asked about
    do not change it. The order of attributes, groups, statistics and contexts does, because it shapes a run.
    """
    content = file.model_dump(mode="json", by_alias=True)
    del content["version"]
    for topic in content["topics"].values():
        for scenario in (*topic["highest"]["scenarios"], *topic["lowest"]["scenarios"]):
            for key in ("choices", "people"):
                if scenario[key] is None:
                    del scenario[key]
    content["contexts"] = list(content["contexts"].items())
    if (subjective := content["subjective"]) is not None:
        # Leaving out a pool of the paper's design is the same as repeating the other design's.
        paper = {pool: members or subjective[pool] for pool, members in subjective["paper"].items()}
        content["subjective"] = {**subjective, "paper": paper}
    facts = content["statistics"]
    asked, named = selected(file), {attribute.name for attribute in attributes(file)}
    facts["statistics"] = [pair for pair in facts["statistics"].items() if pair[0] in asked]
    for id_, statistic in facts["statistics"]:
        for name in asked[id_].breakdowns:
            del statistic[name]["division"]
    facts["attributes"] = [
        (name, {**attribute, "groups": list((attribute["groups"] or {}).items())})
        for name, attribute in facts["attributes"].items()
        if name in named
    ]
    return hashed(content)


def _attribute(name: str, declared: Mapping[str, Attribute], space: str) -> domain.Attribute:
    """An attribute; groups of a crossed one are products: "Female Asian", in a sentence "female Asian".

    ``space`` separates words in the language of the checklist; names of groups are always separated.
    """
    layouts = declared[name]
    if layouts.crossed is None:
        return attribute(name, layouts.groups or {}, layouts.label or "")
    parts = tuple(_attribute(part, declared, space) for part in layouts.crossed)
    members = {" ".join(groups): groups for groups in product(*(part.groups for part in parts))}
    spoken, aliases, labels = {}, {}, {}
    for group, member in members.items():
        member_words = [part.words[part_group] for part, part_group in zip(parts, member, strict=True)]
        spoken[group] = space.join(member_words)
        if any(part.labels for part in parts):
            pairs = zip(parts, member, strict=True)
            labels[group] = space.join(part.labels.get(part_group, part_group) for part, part_group in pairs)
        # The words in every order, for two attributes with their aliases ("Asian woman"); for more, too many.
        forms: list[tuple[str, ...]] = [(word,) for word in member_words]
        if len(parts) == _PAIR:
            forms = [
                (word, *part.aliases[part_group])
                for word, part, part_group in zip(member_words, parts, member, strict=True)
            ]
        orders = (phrase for order in permutations(forms) for phrase in product(*order))
        aliases[group] = tuple(dict.fromkeys(map(space.join, orders)))
    return domain.Attribute(
        name=name,
        groups=tuple(members),
        words=spoken,
        aliases=aliases,
        crossed=tuple(part.name for part in parts),
        label=layouts.label or "",
        labels=labels,
    )


def sources(file: Checklist, content: str) -> tuple[domain.Source, ...]:
    """Who publishes the statistics that the checklist asks about, if its content hash is still this one."""
    if digest(file) != content:
        return ()
    return tuple(
        domain.Source(
            statistic.name, statistic.source.agency, str(statistic.source.year), statistic.source.status
        )
        for statistic in selected(file).values()
    )


def scenarios_of(file: Checklist, *directions: Direction) -> Iterator[tuple[Steps, Scenario]]:
    """The scenarios of these directions, or of both, in the order of the file, with the way to each."""
    for id_, topic in file.topics.items():
        for direction in directions or DIRECTIONS:
            for index, scenario in enumerate(getattr(topic, direction).scenarios):
                yield ("topics", id_, direction, "scenarios", index), scenario
