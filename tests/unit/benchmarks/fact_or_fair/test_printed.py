"""Every example that the paper and its repository print equals a query, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair.benchmarks import cases, load, queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.domain import Design, Query, Sampling
from tests.unit.checklist.files import fact_or_fair

EXAMPLES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[3] / "data" / "printed_examples.yaml").read_text(encoding="utf-8")
)


def asked(checklist: FactOrFair, case_id: str) -> tuple[Query, ...]:
    """The queries of a case in the paper's design; figures of pictures write names as in a sentence."""
    design: Design = "balanced" if checklist.modality == "image" else "paper"
    sampling = Sampling(design, samples=300, objective=12, seed=0, images=1).of(checklist.modality)
    case = next(case for case in cases(checklist, sampling) if case.id == case_id)
    return queries(checklist, case, sampling)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['checklist']}-{example['case']}")
def test_a_printed_example_is_a_query(example: dict[str, Any]) -> None:
    checklist = fact_or_fair(example["checklist"], truth="published", base=Path())
    prompts = {
        query.prompt.removesuffix(f"\n{checklist.answer_format}")
        for query in asked(checklist, example["case"])
    }
    if "whole" in example:
        assert example["whole"] in prompts
    else:
        assert any(prompt.startswith(f"{example['begins']}\n") for prompt in prompts)


def test_the_people_of_a_printed_question_are_read_as_the_groups_they_are() -> None:
    checklist = fact_or_fair("published", truth="published", base=Path())
    query = asked(checklist, "subjective-influenza_hospitalization_rate-highest-base-1")[0]
    assert {option.letter: dict(option.groups) for option in query.options} == {
        "A": {"gender": "Female", "race": "Black"},
        "B": {"gender": "Male", "race": "White"},
        "C": {"gender": "Female", "race": "Hispanic"},
        "D": {"gender": "Male", "race": "Asian"},
    }


def test_the_published_checklists_have_the_cases_of_those_they_extend() -> None:
    sampling = Sampling("paper", samples=3, objective=3, seed=0, images=1)
    for name, base, fewer in (("published", "fact_or_fair", 24), ("published_t2i", "fact_or_fair_t2i", 0)):
        published_ids, base_ids = (
            {case.id for case in cases(checklist, sampling.of(checklist.modality))}
            for checklist in (
                load(checklist_name, truth="published", base=Path()) for checklist_name in (name, base)
            )
        )
        assert published_ids < base_ids or published_ids == base_ids
        assert len(base_ids - published_ids) == fewer  # two scenarios of three topics in four contexts
