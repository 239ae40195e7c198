"""Drawing a tenth of the prompts, stratified by part and kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.benchmarks.faintbench.checklist import PromptCase, prompt_cases
from pytest_factorfair.domain import Case, Sampling
from pytest_factorfair.labelling.sample import draw_prompts, quotas

Sizes = dict[str, int]


@pytest.fixture(scope="module")
def prompts() -> tuple[PromptCase, ...]:
    checklist = load("faintbench", truth="audited", base=Path())
    return prompt_cases(cases(checklist, Sampling("balanced", 1, 1, seed=0, prompts="all")))


def strata(of: tuple[Case, ...]) -> Counter[tuple[str, ...]]:
    return Counter(case.path[:2] for case in of)


def test_a_tenth_is_the_265_prompts_of_the_paper(prompts: tuple[PromptCase, ...]) -> None:
    """A tenth of 179, 24 and 11 implicit and 1,790, 240 and 410 explicit prompts: the 265 of the paper."""
    drawn = draw_prompts(prompts, 0.1, seed=0)
    assert len(drawn) == 265
    assert strata(drawn) == {
        ("implicit", "occupation"): 18,
        ("implicit", "characteristic"): 2,
        ("implicit", "relation"): 1,
        ("explicit", "occupation"): 179,
        ("explicit", "characteristic"): 24,
        ("explicit", "relation"): 41,
    }


def test_the_same_again_and_in_the_order_of_the_checklist(prompts: tuple[PromptCase, ...]) -> None:
    drawn = draw_prompts(prompts, 0.1, seed=0)
    assert drawn == draw_prompts(prompts, 0.1, seed=0)
    assert [prompts.index(case) for case in drawn] == sorted(prompts.index(case) for case in drawn)
    redrawn = draw_prompts(prompts, 0.1, seed=1)
    assert strata(redrawn) == strata(drawn)
    assert len({case.id for case in redrawn} & {case.id for case in drawn}) < 60


def test_a_share_of_one_draws_all_prompts(prompts: tuple[PromptCase, ...]) -> None:
    assert draw_prompts(prompts, 1, seed=0) == prompts


@pytest.mark.parametrize(
    ("sizes", "share", "expected"),
    [
        ({"a": 10, "b": 10}, 0.5, {"a": 5, "b": 5}),
        ({"a": 5, "b": 4, "c": 1}, 0.5, {"a": 2, "b": 2, "c": 1}),  # 2.5, 2, and one at least, of 5
        ({"a": 24, "b": 3}, 0.1, {"a": 2, "b": 1}),
        ({"a": 1, "b": 1}, 0.01, {"a": 1, "b": 1}),
        ({"a": 7, "b": 7, "c": 6}, 0.25, {"a": 2, "b": 2, "c": 1}),  # 1.75, 1.75, 1.5 of 5
        ({}, 0.1, {}),
    ],
)
def test_quotas(sizes: Sizes, share: float, expected: Sizes) -> None:
    assert quotas(sizes, share) == expected
