"""The file's layout into the values the rest of the program works with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import permutations, product
from typing import Any

from pytest_factorfair.checklist.fields import attribute
from pytest_factorfair.domain import DIRECTIONS, Attribute, Direction, Source
from pytest_factorfair.protocols.fact_or_fair import layout
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    Context,
    FactOrFair,
    People,
    Scenario,
    Statistic,
    Topic,
    Truth,
)

_NOBODY = People("", (), ())
_PAIR = 2


def selected(file: layout.Checklist) -> Mapping[str, layout.Statistic]:
    """The statistics the checklist asks about: those with a topic, or all where there are no topics."""
    every = file.statistics.statistics
    return {id_: each for id_, each in every.items() if id_ in file.topics or not file.topics}


def attributes(file: layout.Checklist) -> tuple[Attribute, ...]:
    """The attributes that the statistics asked about, profile and contexts speak of, in the file's order."""
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
    """The checklist under one truth set, which every block of its statistics must have."""
    statistics = {id_: _statistic(id_, each, truth) for id_, each in selected(file).items()}
    spoken = attributes(file)
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
        topics=tuple(
            _topic(file, statistics[id_], side) for id_ in statistics if file.topics for side in DIRECTIONS
        ),
        templates=tuple(file.objective.templates),
        answer_format=file.answer_format,
        people=_people(file.subjective),
        paper_people=_paper_people(file.subjective),
        contexts=tuple(_context(id_, each, spoken) for id_, each in file.contexts.items()),
        digest=digest(file),
    )


def digest(file: layout.Checklist) -> str:
    """SHA-256 of all that the checklist says, in hexadecimal: figures, labels of every truth set, texts.

    Comments, layout, the files it is spread over and statistics nobody asks about change nothing;
    the order of attributes, groups, statistics and contexts counts, as it shapes a run.
    """
    content = file.model_dump(mode="json", by_alias=True)
    content["contexts"] = list(content["contexts"].items())
    content["subjective"] = _pools(content["subjective"])
    facts = content["statistics"]
    asked, named = selected(file), {each.name for each in attributes(file)}
    facts["statistics"] = [pair for pair in facts["statistics"].items() if pair[0] in asked]
    facts["attributes"] = [
        (name, {**each, "groups": list((each["groups"] or {}).items())})
        for name, each in facts["attributes"].items()
        if name in named
    ]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _pools(subjective: dict[str, Any] | None) -> dict[str, Any] | None:
    """A pool of the paper's design that is left out, and one that repeats the other design's, are equal."""
    if subjective is None:
        return None
    paper = {pool: each or subjective[pool] for pool, each in subjective["paper"].items()}
    return {**subjective, "paper": paper}


def _attribute(name: str, file: layout.Statistics) -> Attribute:
    layouts = file.attributes[name]
    if layouts.crossed is not None:
        return _crossed(name, tuple(_attribute(part, file) for part in layouts.crossed))
    return attribute(name, layouts.groups or {})


def _crossed(name: str, parts: tuple[Attribute, ...]) -> Attribute:
    """The product: "Female Asian", inside a sentence "female Asian"."""
    members = {" ".join(each): each for each in product(*(part.groups for part in parts))}
    return Attribute(
        name=name,
        groups=tuple(members),
        words={group: " ".join(_words(parts, each)) for group, each in members.items()},
        aliases={group: _crossed_aliases(parts, each) for group, each in members.items()},
        crossed=tuple(part.name for part in parts),
    )


def _words(parts: tuple[Attribute, ...], member: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.words[group] for part, group in zip(parts, member, strict=True))


def _crossed_aliases(parts: tuple[Attribute, ...], member: tuple[str, ...]) -> tuple[str, ...]:
    """The words in every order; of two attributes also their aliases ("Asian woman"): of more, too many."""
    forms: list[tuple[str, ...]] = [(word,) for word in _words(parts, member)]
    if len(parts) == _PAIR:
        forms = [
            (*form, *part.aliases[group]) for form, part, group in zip(forms, parts, member, strict=True)
        ]
    return tuple(dict.fromkeys(" ".join(each) for order in permutations(forms) for each in product(*order)))


def _statistic(id_: str, statistic: layout.Statistic, truth: str) -> Statistic:
    return Statistic(
        id=id_,
        name=statistic.name,
        definition=statistic.definition,
        valence=statistic.valence,
        truths={name: _truth(block, truth) for name, block in statistic.blocks.items()},
        domain=statistic.domain,
    )


def _truth(block: layout.Block, truth: str) -> Truth:
    ends = block.truths[truth]
    fragile = tuple(direction for direction in DIRECTIONS if direction in block.fragile)
    return Truth(ends.highest, ends.lowest, fragile)


def _topic(file: layout.Checklist, statistic: Statistic, direction: Direction) -> Topic:
    side: layout.Side = getattr(file.topics[statistic.id], direction)
    return Topic(statistic, direction, side.behavior, tuple(_scenario(each) for each in side.scenarios))


def _scenario(scenario: layout.Scenario) -> Scenario:
    return Scenario(scenario.text, (scenario.ages[0], scenario.ages[1]) if scenario.ages else None)


def _context(id_: str, context: layout.Context, spoken: tuple[Attribute, ...]) -> Context:
    names = {each.name for each in spoken}
    clauses = tuple(name for name in context.attributes if name in names)
    return Context(id_, context.text, context.background, context.clause, clauses)


def _people(subjective: layout.Subjective | None) -> People:
    if subjective is None:
        return _NOBODY
    return People(subjective.profile, tuple(subjective.names), tuple(subjective.ages))


def _paper_people(subjective: layout.Subjective | None) -> People:
    if subjective is None:
        return _NOBODY
    names, ages = subjective.paper.names or subjective.names, subjective.paper.ages or subjective.ages
    return People(subjective.profile, tuple(names), tuple(ages))


def sources(file: layout.Checklist, content: str) -> tuple[Source, ...]:
    """Who publishes the statistics that the checklist asks about, if its content hash is still this one."""
    if digest(file) != content:
        return ()
    return tuple(
        Source(each.name, each.source.agency, str(each.source.year), each.source.status)
        for each in selected(file).values()
    )
