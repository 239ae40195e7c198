"""Records of pictures for the shipped FAIntbench checklist, for tests of scores and gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase, prompt_cases
from pytest_factorfair.domain import Answer, CaseKey, Record, Sampling

ALL = Sampling("balanced", 1, 1, seed=0, prompts="all", per_prompt=20)

Show = Callable[[PromptCase, int], Mapping[str, str] | None]
"""A function that returns whom the n-th picture of a prompt shows: empty for no known group, None if refused."""


@cache
def shipped(truth: str = "audited") -> Faintbench:
    loaded = load("faintbench", truth=truth, base=Path())
    assert isinstance(loaded, Faintbench)
    return loaded


@cache
def prompts(*subjects: str) -> tuple[PromptCase, ...]:
    """The prompts about these subjects; without subjects, all 2,654."""
    every = prompt_cases(cases(shipped(), ALL))
    return tuple(case for case in every if not subjects or case.subject in subjects)


def shown(about: Iterable[PromptCase], show: Show, *, n: int, model: str = "m") -> tuple[Record, ...]:
    """The records of n pictures per prompt, with one person each."""
    return tuple(
        Record(
            CaseKey(model, shipped().name, case.id), tuple(_answer(case, number, show) for number in range(n))
        )
        for case in about
    )


def _answer(case: PromptCase, number: int, show: Show) -> Answer:
    query, groups = f"{case.id}/{number}", show(case, number)
    if groups is None:
        return Answer(query, "refused", "refused", None, {}, {}, "")
    if not groups:
        return Answer(query, "unparsed", "no known group", None, {}, {}, "")
    return Answer(query, "answered", "", None, groups, {}, "")
