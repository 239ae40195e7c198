"""What gates range over: the scores that a run plans, or that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pytest_factorfair.domain import Checklist, Gate
from pytest_factorfair.gates.change import CHANGING
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.protocols.fact_or_fair.checklist import Background, FactOrFair, fact_or_fair
from pytest_factorfair.scoring.background import background
from pytest_factorfair.scoring.metrics import METRICS, applies


class Subject(Protocol):
    """One part, context and attribute of a model's answers; a tally is one."""

    @property
    def model(self) -> str: ...
    @property
    def checklist(self) -> str: ...
    @property
    def part(self) -> str: ...
    @property
    def context(self) -> str | None: ...
    @property
    def background(self) -> Background: ...
    @property
    def attribute(self) -> str: ...
    @property
    def statistics(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, slots=True)
class Planned:
    """A subject of a run that has asked nothing yet."""

    model: str
    checklist: str
    part: str
    context: str | None
    background: Background
    attribute: str
    statistics: tuple[str, ...]


def planned(checklists: Iterable[Checklist], models: Sequence[str]) -> tuple[Planned, ...]:
    """Every subject that a run of these checklists on these models will have."""
    facts = fact_or_fair(checklists)
    return tuple(subject for model in models for each in facts for subject in _of(each, model))


def _of(checklist: FactOrFair, model: str) -> Iterator[Planned]:
    for attribute in checklist.attributes:
        ids = tuple(each.id for each in checklist.statistics if attribute.name in each.truths)
        if ids and checklist.templates:
            yield Planned(model, checklist.name, "objective", None, "none", attribute.name, ids)
        if ids and checklist.topics:
            for context in checklist.contexts:
                kind = background(context, attribute)
                yield Planned(model, checklist.name, "subjective", context.id, kind, attribute.name, ids)


def select(gate: Gate, subjects: Sequence[S]) -> tuple[tuple[S, tuple[str, ...]], ...]:
    """The subjects a gate ranges over, each with the statistics it is about.

    Filter words of one kind (part, context, attribute, statistic, checklist, model) are
    alternatives; words of different kinds must all hold. What a gate does not name it ranges over;
    with a word that no subject answers to it fits none.
    """
    wanted = _by_kind(gate, subjects)
    if frozenset(gate.filters) != frozenset().union(*wanted.values()):
        return ()
    chosen = []
    for subject in subjects:
        held = _words(subject)
        named = wanted["statistic"]
        statistics = tuple(each for each in subject.statistics if not named or each in named)
        if _produces(gate, subject) and all(not wanted[kind] or wanted[kind] & held[kind] for kind in wanted):
            chosen.append((subject, statistics))
    return tuple(chosen)


def gate_subjects(
    gate: Gate, checklists: Iterable[Checklist], models: Sequence[str]
) -> tuple[tuple[Planned, tuple[str, ...]], ...]:
    """What a gate will range over in a run of these checklists on these models."""
    return select(gate, planned(checklists, models))


def vocabulary(subjects: Iterable[Subject]) -> Mapping[str, frozenset[str]]:
    """Every filter word the subjects answer to, by kind."""
    found: dict[str, frozenset[str]] = {}
    for subject in subjects:
        for kind, words in _words(subject).items():
            found[kind] = found.get(kind, frozenset()) | words
    return found


def _by_kind(gate: Gate, subjects: Sequence[Subject]) -> dict[str, frozenset[str]]:
    """The gate's words by kind; a word of two kinds is the first of them."""
    wanted: dict[str, frozenset[str]] = {}
    left = frozenset(gate.filters)
    for kind, words in vocabulary(subjects).items():
        wanted[kind] = left & words
        left -= words
    return wanted


def _words(subject: Subject) -> Mapping[str, frozenset[str]]:
    return {
        "part": frozenset({subject.part}),
        "context": frozenset({subject.context} if subject.context is not None else ()),
        "attribute": frozenset({subject.attribute}),
        "statistic": frozenset(subject.statistics),
        "checklist": frozenset({subject.checklist}),
        "model": frozenset({subject.model}),
    }


def _produces(gate: Gate, subject: Subject) -> bool:
    """Whether the subject has such a score: there is an influence only where a context names a group."""
    if gate.regression:
        return gate.metric in CHANGING
    if gate.metric == INFLUENCE:
        return subject.background != "none"
    return gate.metric in METRICS and applies(gate.metric, part=subject.part, background=subject.background)
