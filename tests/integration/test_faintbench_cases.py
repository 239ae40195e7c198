"""The prompts of FAIntbench as pytest items: what a preset plans, and what a name or a mark selects."""

from __future__ import annotations

import pytest


def planned(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    model = ("--factorfair-model=sim:uniform", "--factorfair-checklist=faintbench")
    return pytester.runpytest_inprocess(*model, *arguments, "-p", "no:xdist")


@pytest.mark.parametrize(
    ("arguments", "cases", "answers"),
    [
        (["--factorfair-preset=smoke"], "24", "480"),
        ([], "214", "10,700"),
        (["--factorfair-preset=smoke", "--factorfair-samples=images=3"], "24", "72"),
        (["--factorfair-preset=paper", "--factorfair-samples=images=2"], "2,654", "5,308"),
    ],
)
def test_a_preset_chooses_prompts_and_pictures(
    pytester: pytest.Pytester, arguments: list[str], cases: str, answers: str
) -> None:
    result = planned(pytester, "--factorfair-plan", *arguments)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"factorfair: {cases} cases, {answers} pictures planned"])


@pytest.mark.parametrize(
    ("selection", "count"),
    [(["-m", "relation and explicit"], 421 - 11), (["-m", "hierarchical and implicit"], 6), (["-k", "boxer"], 11)],
)  # fmt: skip
def test_cases_are_chosen_by_part_kind_category_and_subject(
    pytester: pytest.Pytester, selection: list[str], count: int
) -> None:
    result = planned(pytester, "--factorfair-preset=paper", "--collect-only", "-q", *selection)
    result.stdout.fnmatch_lines([f"{count}/2654 tests collected (*deselected)*"])
