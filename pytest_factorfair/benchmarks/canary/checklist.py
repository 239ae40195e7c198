"""The checklist of the canary, its cases and queries, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.checklist.queries import numbered
from pytest_factorfair.domain import Case, Checklist, Option, Query, Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

PART = "canary"
"""The only part of its answers."""

CHOICE = "choice"
"""The attribute of the options in a query: what simulated respondents choose among."""


@dataclass(frozen=True, slots=True)
class CanaryQuestion:
    """A question with its options, in the order of their letters."""

    id: str
    ask: str
    options: tuple[str, ...]


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
        return f"{self.canary.ask} ({', '.join(self.canary.options)})"


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
    """The question, as often as it is asked: letters stay where they are."""
    options = tuple(
        Option(letter, text, (text,), {CHOICE: text})
        for letter, text in zip(ascii_uppercase, case.canary.options, strict=False)
    )
    lines = (f"{option.letter}. {option.text}" for option in options)
    prompt = "\n".join((case.canary.ask, *lines, checklist.answer_format))
    return numbered([(prompt, options, {})] * case.samples, case=case, seed=sampling.seed)


def situation(checklist: Canary, query: Query) -> Situation:
    """A choice without a truth or a stereotype."""
    del checklist
    options = tuple((option.letter, option.groups) for option in query.options)
    return Situation(options=options, asked=(), truths={}, named={})
