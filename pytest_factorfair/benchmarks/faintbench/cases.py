"""Expand a checklist to cases, one per prompt, and cases to queries, one per picture."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import cycle, islice, product

from pytest_factorfair.benchmarks.asking import DepictedPerson
from pytest_factorfair.benchmarks.faintbench.checklist import (
    KINDS,
    Faintbench,
    Kind,
    PersonOf,
    PromptCase,
    Side,
    Subject,
)
from pytest_factorfair.checklist.queries import fill, numbered
from pytest_factorfair.domain import Prompts, Query, Sampling

IMPLICIT: Mapping[Prompts, tuple[Kind, ...]] = {
    "characteristics": ("characteristic",),
    "implicit": KINDS,
    "all": KINDS,
}
"""The kinds of subjects with implicit prompts, for each value of ``prompts``."""


def cases(checklist: Faintbench, sampling: Sampling) -> tuple[PromptCase, ...]:
    """The cases of the prompts chosen, in the order of the checklist, implicit ones first."""
    kinds = IMPLICIT[sampling.prompts]
    names = tuple(attribute.name for attribute in checklist.attributes)
    implicit = (
        _case(checklist, subject, sampling, attributes=names)
        for subject in checklist.subjects
        if subject.kind in kinds
    )
    # Every group of an attribute; of two people, every ordered pair of groups.
    explicit = (
        _case(checklist, subject, sampling, attributes=(name,), requested=requested)
        for subject in checklist.subjects
        for name in subject.explicit
        for requested in product(checklist.attribute(name).groups, repeat=len(subject.sides))
    )
    return (*implicit, *(explicit if sampling.prompts == "all" else ()))


def _case(
    checklist: Faintbench,
    subject: Subject,
    sampling: Sampling,
    *,
    attributes: tuple[str, ...],
    requested: tuple[str, ...] = (),
) -> PromptCase:
    part, asked = ("explicit", (*attributes, *requested)) if requested else ("implicit", ())
    return PromptCase(
        id="-".join((part, subject.kind, subject.id, *asked)),
        checklist=checklist.name,
        part=part,
        attributes=attributes,
        samples=sampling.per_prompt,
        subject=subject.id,
        kind=subject.kind,
        category=subject.category,
        requested=requested,
    )


def queries(checklist: Faintbench, case: PromptCase, sampling: Sampling) -> tuple[Query, ...]:
    """One query per picture; queries cycle through the prompts of the case and differ by repeat and seed."""
    texts = islice(cycle(prompts(checklist, case)), case.samples)
    return numbered(((text, (), {}) for text in texts), case=case, seed=sampling.seed)


def notices(checklist: Faintbench, sampling: Sampling) -> tuple[str, ...]:  # noqa: ARG001 - one signature
    """One line about negative shares, which the published figures have; no size is adjusted."""
    return tuple(
        f"{checklist.name}: the share {share:g} of {group} in {subject.name} is below 0: it counts as 0, "
        "but for the estimator published-code"
        for subject in checklist.subjects
        for side in subject.sides
        for shares in side.shares.values()
        for group, share in shares.items()
        if share < 0
    )


PERSON = "person"
"""The noun of a subject without a noun of its own."""


def prompts(checklist: Faintbench, case: PromptCase) -> tuple[str, ...]:
    """The prompts of a case, which differ by realism; articles agree with the words that follow them."""
    subject = checklist.subject(case.subject)
    realism = subject.requested.get("-".join((*case.attributes, *case.requested)), subject.realism)
    groups = case.requested or (None,) * len(subject.sides)
    shown = [person(checklist, case, side, group) for side, group in zip(subject.sides, groups, strict=True)]
    nouns = {side.noun for side in subject.sides}
    words = {
        "adjective": subject.name,
        "person": shown[0],
        "left": shown[0],
        "right": shown[-1],
        "one": "one" if len(nouns) > 1 else "another",
    }
    identity = fill(checklist.identities[case.kind], words, agree=True)
    return tuple(f"{identity}, {text}" for text in realism)


def person(checklist: Faintbench, case: PromptCase, side: Side, group: str | None) -> str:
    """One person as the prompt names it: the noun, after the word of the group asked for.

    The noun "person" is replaced by the group's own noun, if it has one: "a rich woman".
    """
    if group is None:
        return side.noun
    name = case.attributes[0]
    if side.noun == PERSON and group in checklist.nouns[name]:
        return checklist.nouns[name][group]
    return f"{checklist.attribute(name).words[group]} {side.noun}"


def depicted_people(checklist: Faintbench, query: Query) -> tuple[DepictedPerson, ...] | None:
    """The people of a query of the checklist, from left to right."""
    case = query.case
    if not isinstance(case, PromptCase):
        return None
    return tuple(
        DepictedPerson(
            side.shares,
            {case.attributes[0]: case.requested[number]} if case.requested else {},
            _standings(checklist).get(PersonOf(case.subject, number)),
        )
        for number, side in enumerate(checklist.subject(case.subject).sides)
    )


@lru_cache(maxsize=8)
def _standings(checklist: Faintbench) -> Mapping[PersonOf, bool]:
    """Whether a person of a pair is the advantaged one, which is the same in all pairs."""
    disadvantaged = {pair.disadvantaged: False for pair in checklist.pairs}
    return disadvantaged | {pair.advantaged: True for pair in checklist.pairs}
