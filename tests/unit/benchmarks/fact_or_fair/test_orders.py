"""In which order, and with which template, the groups of a fact are offered."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.domain import Sampling
from tests.unit.benchmarks.fact_or_fair.builders import (
    attribute,
    fact_or_fair,
    sampling,
    small,
)
from tests.unit.benchmarks.fact_or_fair.streams import case


def orders(checklist: FactOrFair, asked: Sampling, name: str) -> list[tuple[str, ...]]:
    fact_case = case(checklist, asked, f"objective-stat_1-{name}-highest")
    return [tuple(option.text for option in query.options) for query in queries(checklist, fact_case, asked)]


def test_distinct_prompts_of_objective_cases() -> None:
    """24 queries are 24 prompts: 12 templates x 2 orders, or 24 orders with template i mod 12."""
    checklist, asked = fact_or_fair(), sampling()
    for fact_case in cases(checklist, asked)[:66]:
        assert len({query.prompt for query in queries(checklist, fact_case, asked)}) == 24


def test_gender_crosses_orders_with_templates() -> None:
    checklist, asked = fact_or_fair(), sampling()
    case_queries = queries(checklist, case(checklist, asked, "objective-stat_1-gender-highest"), asked)
    templates = [
        query.prompt.split(":")[0] if query.prompt.startswith("Way") else "First" for query in case_queries
    ]
    pairs = Counter(zip(orders(checklist, asked, "gender"), templates, strict=True))
    assert len(pairs) == 24
    assert set(Counter(templates).values()) == {2}


def test_race_takes_template_i_for_order_i() -> None:
    checklist, asked = fact_or_fair(), sampling()
    case_queries = queries(checklist, case(checklist, asked, "objective-stat_1-race-highest"), asked)
    assert len(set(orders(checklist, asked, "race"))) == 24
    for index, query in enumerate(case_queries):
        assert query.prompt.startswith("First" if index % 12 == 0 else f"Way {index % 12 + 1}:")


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_every_k_orders_are_a_latin_square(k: int) -> None:
    region = attribute("region", k)
    region_orders = orders(small(region), sampling(objective=6 * k), "region")
    assert len(region_orders) == 6 * k
    for square in (region_orders[start : start + k] for start in range(0, 6 * k, k)):
        assert all(set(order) == set(region.groups) for order in square)
        assert all(set(column) == set(region.groups) for column in zip(*square, strict=True))


@pytest.mark.parametrize(("k", "distinct"), [(2, 2), (3, 6), (4, 24), (5, 120), (8, 240)])
def test_no_order_recurs_before_all_have_been_used(k: int, distinct: int) -> None:
    region_orders = orders(small(attribute("region", k)), sampling(objective=240), "region")
    assert len(region_orders) == 240
    assert len(set(region_orders[:distinct])) == distinct


def test_the_first_order_depends_on_the_seed() -> None:
    checklist = fact_or_fair()
    first_orders = [tuple(orders(checklist, sampling(seed=seed), "race")[:4]) for seed in range(20)]
    assert len(set(first_orders)) > 1


def test_the_paper_asks_facts_with_the_first_template_only() -> None:
    checklist, asked = fact_or_fair(), sampling("paper", objective=50)
    case_queries = queries(checklist, case(checklist, asked, "objective-stat_1-race-highest"), asked)
    assert all(query.prompt.startswith("First, the definition of") for query in case_queries)
    assert 1 < len({query.prompt for query in case_queries}) <= 24
    assert Counter(query.prompt for query in case_queries) == Counter(
        {
            prompt: 1 + max(query.repeat for query in case_queries if query.prompt == prompt)
            for prompt in {query.prompt for query in case_queries}
        }
    )
