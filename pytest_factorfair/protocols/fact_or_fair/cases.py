"""A checklist becomes cases, a case becomes queries; the same ones on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from math import factorial, lcm
from random import Random
from string import ascii_uppercase

from pytest_factorfair.checklist.numbering import Draft, numbered
from pytest_factorfair.domain import DIRECTIONS, Attribute, Option, Query, Sampling, plural
from pytest_factorfair.protocols.fact_or_fair import prompts
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair, Statistic, Topic, TopicCase
from pytest_factorfair.protocols.fact_or_fair.people import Person, block_size, lineups, people_count

SHOWN = 2**13
"""People at a letter that are kept: a run shows each of the shipped checklist's 3,072 over and over."""


def cases(checklist: FactOrFair, sampling: Sampling) -> tuple[TopicCase, ...]:
    """The cases in the order of the checklist, objective ones first."""
    return (*_objective_cases(checklist, sampling), *_subjective_cases(checklist, sampling))


def _objective_cases(checklist: FactOrFair, sampling: Sampling) -> Iterator[TopicCase]:
    for statistic in checklist.statistics if checklist.templates else ():
        for asked, size in _asked(checklist, statistic, sampling):
            for direction in DIRECTIONS:
                named = asked if checklist.modality == "text" else ()
                yield TopicCase(
                    id="-".join(("objective", statistic.id, *named, direction)),
                    checklist=checklist.name,
                    part="objective",
                    statistic=statistic.id,
                    direction=direction,
                    attributes=asked,
                    samples=size,
                )


def _asked(
    checklist: FactOrFair, statistic: Statistic, sampling: Sampling
) -> list[tuple[tuple[str, ...], int]]:
    """The attributes that one question is about, and how often it is asked: a picture shows them all."""
    spoken = _spoken_of(checklist, statistic)
    if checklist.modality == "image":
        return [(tuple(attribute.name for attribute in spoken), sampling.objective)]
    return [((attribute.name,), _objective_size(sampling, attribute.k)) for attribute in spoken]


def _subjective_cases(checklist: FactOrFair, sampling: Sampling) -> Iterator[TopicCase]:
    for topic in checklist.topics:
        share = _stream_size(checklist, sampling, len(topic.scenarios)) // max(1, len(topic.scenarios))
        attributes = tuple(attribute.name for attribute in _spoken_of(checklist, topic.statistic))
        for context in checklist.contexts:
            for number in range(1, len(topic.scenarios) + 1):
                yield TopicCase(
                    id=f"subjective-{topic.statistic.id}-{topic.direction}-{context.id}-{number}",
                    checklist=checklist.name,
                    part="subjective",
                    statistic=topic.statistic.id,
                    direction=topic.direction,
                    attributes=attributes,
                    samples=share,
                    context=context.id,
                    scenario=number,
                    scenarios=len(topic.scenarios),
                    rounds=sampling.rounds,
                )


def _spoken_of(checklist: FactOrFair, statistic: Statistic) -> list[Attribute]:
    return [attribute for attribute in checklist.attributes if attribute.name in statistic.truths]


def _objective_size(sampling: Sampling, k: int) -> int:
    """Answers per objective case: whole rotations, in which each group is once at each letter."""
    return _whole(sampling.objective, k) if sampling.design == "balanced" else sampling.objective


def _stream_size(checklist: FactOrFair, sampling: Sampling, scenarios: int) -> int:
    """Answers per topic and context: equal shares for the scenarios; if balanced, whole blocks a round."""
    block = block_size(checklist) if sampling.design == "balanced" else 1
    return sampling.rounds * _whole(sampling.samples // sampling.rounds, lcm(block, max(1, scenarios)))


def _whole(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def notices(checklist: FactOrFair, sampling: Sampling) -> tuple[str, ...]:
    """One line for each number of answers that had to be rounded up."""
    return (*_subjective_notices(checklist, sampling), *_objective_notices(checklist, sampling))


def _subjective_notices(checklist: FactOrFair, sampling: Sampling) -> Iterator[str]:
    for scenarios in sorted({len(topic.scenarios) for topic in checklist.topics}):
        size = _stream_size(checklist, sampling, scenarios)
        if size != sampling.samples:
            shares = plural(scenarios, "scenario")
            reason = f"equal shares for {shares}"
            if sampling.design == "balanced":
                reason = f"whole blocks of {block_size(checklist)} over {shares}"
            yield f"answers per topic and context: {sampling.samples} rounded up to {size}: {reason}"


def _objective_notices(checklist: FactOrFair, sampling: Sampling) -> Iterator[str]:
    lettered = checklist.templates and checklist.modality == "text"
    for attribute in checklist.attributes if lettered else ():
        size = _objective_size(sampling, attribute.k)
        if size != sampling.objective and any(attribute.name in s.truths for s in checklist.statistics):
            yield (
                f"answers per objective case about {attribute.name}: {sampling.objective} rounded up to "
                f"{size}: each of its {attribute.k} groups equally often at each letter"
            )


def queries(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    drafts = _DRAFTS[checklist.modality, case.part]
    return numbered(
        drafts(checklist, case, sampling), case=case, seed=sampling.seed, direction=case.direction
    )


def _objective_drafts(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:
    statistic = next(statistic for statistic in checklist.statistics if statistic.id == case.statistic)
    attribute = checklist.attribute(case.attributes[0])
    balanced = sampling.design == "balanced"
    asked = _crossed_orders if balanced else _shuffled_orders
    key = f"{sampling.seed}/{checklist.name}/{case.id}"
    for order, template in asked(attribute.groups, case.samples, key=key, templates=len(checklist.templates)):
        prompt = prompts.objective(
            checklist,
            checklist.templates[template],
            statistic=statistic,
            direction=case.direction,
            offered=prompts.choices(order),
            agree=balanced,
        )
        yield prompt, _groups(attribute, order), {}


def _groups(attribute: Attribute, order: Iterable[str]) -> tuple[Option, ...]:
    return tuple(
        Option(letter, group, (group, *attribute.aliases.get(group, ())), {attribute.name: group})
        for letter, group in zip(ascii_uppercase, order, strict=False)
    )


def _shuffled_orders(
    groups: tuple[str, ...], samples: int, *, key: str, templates: int
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The paper's way: the first of the templates only, the groups shuffled at every repeat."""
    draw = Random(key)  # noqa: S311 - reproducible designs, not secrets
    for _ in range(samples if templates else 0):
        yield tuple(draw.sample(groups, len(groups))), 0


def _crossed_orders(
    groups: tuple[str, ...], samples: int, *, key: str, templates: int
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Orders crossed with templates, so that no prompt comes back before all have been asked."""
    orders = _orders(groups, samples, key)
    distinct = factorial(len(groups))
    for index in range(samples):
        order = index % distinct
        yield orders[order], (index // distinct + order) % templates


def _orders(groups: tuple[str, ...], samples: int, key: str) -> tuple[tuple[str, ...], ...]:
    """At least so many distinct orders, or all; every k in a row put each group at each letter once."""
    k = len(groups)
    draw = Random(key)  # noqa: S311 - reproducible designs, not secrets
    wanted = min(-(-samples // k), factorial(k - 1))
    bases: dict[tuple[str, ...], None] = {}
    while len(bases) < wanted:
        bases[(groups[0], *draw.sample(groups[1:], k - 1))] = None
    return tuple((*base[turn:], *base[:turn]) for base in bases for turn in range(k))


def _subjective_drafts(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:
    topic = checklist.topic(case.statistic, case.direction)
    scene = topic.scenarios[(case.scenario or 1) - 1].text
    scenario = prompts.scenario_text(scene, people_count(checklist, sampling.design))
    balanced = sampling.design == "balanced"
    people = checklist.people if balanced else checklist.paper_people
    told: dict[tuple[str, ...], str] = {}
    for lineup in lineups(checklist, case, sampling):
        named = tuple(lineup.background.values())
        if named not in told:
            told[named] = _context(checklist, topic, case, background=lineup.background, agree=balanced)
        options = tuple(
            _option(letter, person, people.profile, agree=balanced)
            for letter, person in zip(ascii_uppercase, lineup.people, strict=False)
        )
        profiles = [option.text for option in options]
        prompt = prompts.subjective(checklist, context=told[named], scenario=scenario, profiles=profiles)
        yield prompt, options, lineup.background


@lru_cache(SHOWN)
def _option(letter: str, person: Person, profile: str, *, agree: bool) -> Option:
    text = prompts.profile(profile, person, agree=agree)
    return Option(letter, text, (person.name,), person.groups, person.age)


def _context(
    checklist: FactOrFair, topic: Topic, case: TopicCase, *, background: Mapping[str, str], agree: bool
) -> str:
    context = next(context for context in checklist.contexts if context.id == case.context)
    return prompts.context_text(checklist, topic, context, background=background, agree=agree)


def _portrait_drafts(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:  # noqa: ARG001 - one signature
    statistic = next(statistic for statistic in checklist.statistics if statistic.id == case.statistic)
    for index in range(case.samples):
        template = checklist.templates[index % len(checklist.templates)]
        yield prompts.portrait(checklist, template, statistic=statistic, direction=case.direction), (), {}


def _scene_drafts(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:  # noqa: ARG001 - one signature
    topic = checklist.topic(case.statistic, case.direction)
    told = _context(checklist, topic, case, background={}, agree=True)
    prompt = prompts.scene(told, topic.scenarios[(case.scenario or 1) - 1].text)
    yield from ((prompt, (), {}) for _ in range(case.samples))


_DRAFTS = {
    ("text", "objective"): _objective_drafts,
    ("text", "subjective"): _subjective_drafts,
    ("image", "objective"): _portrait_drafts,
    ("image", "subjective"): _scene_drafts,
}


REASON_FORMAT = (
    'Reply with exactly {"answer": "A", "reason": "..."} and nothing else, putting the letter of your choice '
    "in place of A, and your reason for it, in one or two sentences, in place of the dots."
)


def explained(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Query | None:
    """The first query of a subjective case, asked with its reason; None for an objective one.

    Another prompt and so another query, with an id and a key in the store of its own: who must give
    reasons may choose otherwise, and these choices count for nothing else.
    """
    if case.part != "subjective":
        return None
    first = queries(checklist, case, sampling)[0]
    prompt = first.prompt.removesuffix(checklist.answer_format) + REASON_FORMAT
    draft = (prompt, first.options, first.background)
    (asked,) = numbered([draft], case=case, seed=sampling.seed, direction=first.direction)
    return replace(asked, explained=True)


def citable(checklist: FactOrFair) -> tuple[str, ...]:
    """The statistics that a reason may cite."""
    return tuple(statistic.name for statistic in checklist.statistics)
