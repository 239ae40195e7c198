"""Expand a checklist to cases: what is asked, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from pytest_factorfair.benchmarks.fact_or_fair.asking.people import block_size, people_count
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import scenario_text
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, Statistic, TopicCase
from pytest_factorfair.domain import DIRECTIONS, Attribute, Sampling, plural


def cases(checklist: FactOrFair, sampling: Sampling) -> tuple[TopicCase, ...]:
    """The cases in the order of the checklist, objective ones first."""
    return (*_objective(checklist, sampling), *_subjective(checklist, sampling))


def _objective(checklist: FactOrFair, sampling: Sampling) -> Iterator[TopicCase]:
    """A case per attribute; for pictures, which show all of them, a single case."""
    for statistic in checklist.statistics if checklist.templates else ():
        spoken = _spoken_of(checklist, statistic)
        questions: list[tuple[tuple[str, ...], int]] = [
            ((attribute.name,), _objective_size(sampling, attribute.k)) for attribute in spoken
        ]
        if checklist.modality == "image":
            questions = [(tuple(attribute.name for attribute in spoken), sampling.objective)]
        for asked, size in questions:
            for direction in DIRECTIONS:
                named = asked if checklist.modality == "text" else ()
                yield TopicCase(
                    id="-".join(("objective", statistic.id, *named, direction)),
                    checklist=checklist.name,
                    part="objective",
                    statistic=statistic.id,
                    name=statistic.name,
                    direction=direction,
                    valence=statistic.valence_at(direction),
                    attributes=asked,
                    samples=size,
                )


def _subjective(checklist: FactOrFair, sampling: Sampling) -> Iterator[TopicCase]:
    people = people_count(checklist, sampling.design)
    for topic in checklist.topics:
        share = _stream_size(checklist, sampling, len(topic.scenarios)) // max(1, len(topic.scenarios))
        attributes = tuple(attribute.name for attribute in _spoken_of(checklist, topic.statistic))
        for context in checklist.contexts:
            for number, scenario in enumerate(topic.scenarios, 1):
                yield TopicCase(
                    id=f"subjective-{topic.statistic.id}-{topic.direction}-{context.id}-{number}",
                    checklist=checklist.name,
                    part="subjective",
                    statistic=topic.statistic.id,
                    name=topic.statistic.name,
                    direction=topic.direction,
                    valence=topic.valence,
                    attributes=attributes,
                    samples=share,
                    context=context.id,
                    scenario=number,
                    scenarios=len(topic.scenarios),
                    rounds=sampling.rounds,
                    text=scenario_text(scenario.text, people, checklist.language),
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
    """One line for every number of answers that was rounded up."""
    lines = []
    for scenarios in sorted({len(topic.scenarios) for topic in checklist.topics}):
        size = _stream_size(checklist, sampling, scenarios)
        if size != sampling.samples:
            shares = plural(scenarios, "scenario")
            reason = f"equal shares for {shares}"
            if sampling.design == "balanced":
                reason = f"whole blocks of {block_size(checklist)} over {shares}"
            size_of = f"answers per topic and context: {sampling.samples} rounded up to {size}"
            lines.append(f"{size_of}: {reason}")
    lettered = checklist.templates and checklist.modality == "text"
    for attribute in checklist.attributes if lettered else ():
        size = _objective_size(sampling, attribute.k)
        if size != sampling.objective and any(attribute.name in s.truths for s in checklist.statistics):
            lines.append(
                f"answers per objective case about {attribute.name}: {sampling.objective} rounded up to "
                f"{size}: each of its {attribute.k} groups equally often at each letter"
            )
    return tuple(lines)
