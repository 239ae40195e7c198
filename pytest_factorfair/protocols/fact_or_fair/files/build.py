"""From the layout of a file to the checklist that the program works with."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations, product

from pytest_factorfair.checklist.fields import attribute, hashed
from pytest_factorfair.domain import DIRECTIONS, Attribute, Source
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    Choice,
    Context,
    FactOrFair,
    People,
    Scenario,
    Statistic,
    Topic,
    Truth,
)
from pytest_factorfair.protocols.fact_or_fair.files import layout

_PAIR = 2


def selected(file: layout.Checklist) -> Mapping[str, layout.Statistic]:
    """The statistics the checklist asks about: those with a topic, or all where there are no topics."""
    every = file.statistics.statistics
    return {id_: each for id_, each in every.items() if id_ in file.topics or not file.topics}


def attributes(file: layout.Checklist) -> tuple[Attribute, ...]:
    """The attributes used by the statistics asked about, the profile and contexts, in the file's order."""
    declared = file.statistics.attributes
    named = {name for each in selected(file).values() for name in each.blocks}
    parts = {part for name in named for part in declared[name].crossed or ()}
    texts = [each.text for each in file.contexts.values()] + (
        [file.subjective.profile] if file.subjective else []
    )
    named |= parts | {name for name in declared if any(f"{{{name}}}" in text for text in texts)}
    return tuple(_attribute(name, file.statistics) for name in declared if name in named)


def truth_sets(file: layout.Checklist) -> tuple[str, ...]:
    """The truth sets that cover everything the checklist asks about."""
    blocks = [block for each in selected(file).values() for block in each.blocks.values()]
    return tuple(name for name in blocks[0].truths if all(name in block.truths for block in blocks))


def checklist(file: layout.Checklist, truth: str) -> FactOrFair:
    """The checklist under one truth set, which every block of its statistics must include."""
    statistics: dict[str, Statistic] = {}
    for id_, one in selected(file).items():
        truths = {}
        for name, block in one.blocks.items():
            fragile = tuple(direction for direction in DIRECTIONS if direction in block.fragile)
            truths[name] = Truth(block.truths[truth].highest, block.truths[truth].lowest, fragile)
        statistics[id_] = Statistic(id_, one.name, one.definition, one.valence, truths, one.domain)
    topics = []
    for statistic in statistics.values() if file.topics else ():
        for direction in DIRECTIONS:
            side: layout.Side = getattr(file.topics[statistic.id], direction)
            scenarios = (
                Scenario(
                    each.text,
                    (each.ages[0], each.ages[1]) if each.ages else None,
                    tuple(Choice(one.text, one.name, one.age, one.groups) for one in each.choices or ()),
                )
                for each in side.scenarios
            )
            topics.append(Topic(statistic, direction, side.behavior, tuple(scenarios)))
    people = paper = People("", (), ())
    if (asked := file.subjective) is not None:
        people = People(asked.profile, tuple(asked.names), tuple(asked.ages))
        names, ages = asked.paper.names or asked.names, asked.paper.ages or asked.ages
        paper = People(asked.profile, tuple(names), tuple(ages))
    spoken = attributes(file)
    known = {each.name for each in spoken}
    contexts = (
        Context(id_, each.text, each.background, each.clause, tuple(n for n in each.attributes if n in known))
        for id_, each in file.contexts.items()
    )
    return FactOrFair(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        place=file.statistics.place,
        country=file.statistics.country,
        truth=truth,
        attributes=spoken,
        statistics=tuple(statistics.values()),
        topics=tuple(topics),
        templates=tuple(file.objective.templates),
        answer_format=file.answer_format,
        people=people,
        paper_people=paper,
        contexts=tuple(contexts),
        digest=digest(file),
    )


def digest(file: layout.Checklist) -> str:
    """SHA-256 of all that the checklist says, in hexadecimal: figures, labels of every truth set, texts.

    Comments, layout, its version, the divisions that figures follow from, the files it is spread over and
    statistics nobody asks about change nothing;
    the order of attributes, groups, statistics and contexts counts, as it shapes a run.
    """
    content = file.model_dump(mode="json", by_alias=True)
    del content["version"]
    for topic in content["topics"].values():
        for scenario in (*topic["highest"]["scenarios"], *topic["lowest"]["scenarios"]):
            if scenario["choices"] is None:
                del scenario["choices"]
    content["contexts"] = list(content["contexts"].items())
    if (subjective := content["subjective"]) is not None:
        # Leaving out a pool of the paper's design is the same as repeating the other design's.
        paper = {pool: each or subjective[pool] for pool, each in subjective["paper"].items()}
        content["subjective"] = {**subjective, "paper": paper}
    facts = content["statistics"]
    asked, named = selected(file), {each.name for each in attributes(file)}
    facts["statistics"] = [pair for pair in facts["statistics"].items() if pair[0] in asked]
    for id_, each in facts["statistics"]:
        for name in asked[id_].blocks:
            del each[name]["division"]
    facts["attributes"] = [
        (name, {**each, "groups": list((each["groups"] or {}).items())})
        for name, each in facts["attributes"].items()
        if name in named
    ]
    return hashed(content)


def _attribute(name: str, file: layout.Statistics) -> Attribute:
    """An attribute; groups of a crossed one are products: "Female Asian", in a sentence "female Asian"."""
    layouts = file.attributes[name]
    if layouts.crossed is None:
        return attribute(name, layouts.groups or {})
    parts = tuple(_attribute(part, file) for part in layouts.crossed)
    members = {" ".join(each): each for each in product(*(part.groups for part in parts))}
    words, aliases = {}, {}
    for group, member in members.items():
        said = [part.words[own] for part, own in zip(parts, member, strict=True)]
        words[group] = " ".join(said)
        # The words in every order, for two attributes with their aliases ("Asian woman"); for more, too many.
        forms: list[tuple[str, ...]] = [(word,) for word in said]
        if len(parts) == _PAIR:
            forms = [(word, *part.aliases[own]) for word, part, own in zip(said, parts, member, strict=True)]
        orders = (each for order in permutations(forms) for each in product(*order))
        aliases[group] = tuple(dict.fromkeys(map(" ".join, orders)))
    crossed = tuple(part.name for part in parts)
    return Attribute(name=name, groups=tuple(members), words=words, aliases=aliases, crossed=crossed)


def sources(file: layout.Checklist, content: str) -> tuple[Source, ...]:
    """Who publishes the statistics that the checklist asks about, if its content hash is still this one."""
    if digest(file) != content:
        return ()
    return tuple(
        Source(each.name, each.source.agency, str(each.source.year), each.source.status)
        for each in selected(file).values()
    )
