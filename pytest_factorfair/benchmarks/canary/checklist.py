"""The checklist of the canary, its cases and queries, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.checklist.queries import numbered
from pytest_factorfair.domain import Case, Checklist, Query, Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

PART = "canary"
"""The only part of its answers."""

SIMULATED_CHOICES = ascii_uppercase[:4]
"""What simulated respondents, which know no words, choose among."""


@dataclass(frozen=True, slots=True)
class CanaryQuestion:
    """A question that a word answers."""

    id: str
    ask: str


@dataclass(frozen=True, slots=True)
class Canary(Checklist):
    """A checklist of questions without a right answer."""

    questions: tuple[CanaryQuestion, ...]
    answer_format: str

    __hash__ = Checklist.__hash__


@dataclass(frozen=True, slots=True)
class CanaryCase(Case):
    """One question, asked ``samples`` times in the same words."""

    canary: CanaryQuestion

    @property
    def title(self) -> str:
        return self.canary.ask


def cases(checklist: Canary, sampling: Sampling) -> tuple[CanaryCase, ...]:
    """A case per question, in the order of the checklist."""
    return tuple(
        CanaryCase(question.id, checklist.name, PART, (), sampling.repeats, question)
        for question in checklist.questions
    )


def canary_cases(cases: Sequence[Case]) -> tuple[CanaryCase, ...]:
    """The cases that are questions of a canary."""
    return tuple(case for case in cases if isinstance(case, CanaryCase))


def queries(checklist: Canary, case: CanaryCase, sampling: Sampling) -> tuple[Query, ...]:
    """The question, as often as it is asked, without options: the wording of a reply is the answer."""
    prompt = " ".join(filter(None, (case.canary.ask, checklist.answer_format)))
    return numbered([(prompt, (), {})] * case.samples, case=case, seed=sampling.seed)


def situation(checklist: Canary, query: Query) -> Situation:
    """A choice without a truth or a stereotype."""
    del checklist, query
    options = tuple((letter, dict[str, str]()) for letter in SIMULATED_CHOICES)
    return Situation(options=options, asked=(), truths={}, named={})
