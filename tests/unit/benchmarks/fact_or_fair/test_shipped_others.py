"""The further shipped checklists: their labels follow from figures that name where they were read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair.benchmarks import cases, lint
from pytest_factorfair.checklist.locate import folder
from pytest_factorfair.domain import Sampling
from tests.unit.checklist.files import fact_or_fair

# By checklist: its statistics file, breakdowns by attribute, objective and subjective cases.
SHIPPED: dict[str, tuple[str, dict[str, int], int, int]] = {
    "fact_or_fair_crossed": ("us_crossed", {"gender_and_race": 5}, 10, 104),
    "fact_or_fair_eu": ("eu", {"gender": 5, "citizenship": 7}, 24, 160),
}


def breakdowns(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Statistic, attribute and breakdown, as they stand in the file."""
    content = yaml.safe_load((folder() / f"statistics/{name}.yaml").read_text(encoding="utf-8"))
    return [
        (statistic, attribute, breakdown)
        for statistic, fields in content["statistics"].items()
        for attribute, breakdown in fields.items()
        if attribute in content["attributes"]
    ]


@pytest.mark.parametrize("name", SHIPPED)
def test_sizes(name: str) -> None:
    file, attributes, objective, subjective = SHIPPED[name]
    checklist = fact_or_fair(name, truth="audited", base=Path())
    assert (
        Counter(attribute for statistic in checklist.statistics for attribute in statistic.truths)
        == attributes
    )
    assert {statistic.id for statistic in checklist.statistics} == {
        statistic for statistic, _, _ in breakdowns(file)
    }
    full = Sampling(design="balanced", samples=1, objective=1, seed=0, prompts="all")
    parts = Counter(case.part for case in cases(checklist, full))
    assert parts == {"objective": objective, "subjective": subjective}
    assert lint(name, base=Path()) == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_labels_are_the_ends_of_the_figures(name: str) -> None:
    without = []
    for statistic, attribute, breakdown in breakdowns(SHIPPED[name][0]):
        figures = breakdown.get("figures")
        if figures is None:
            without.append((statistic, attribute))
            continue
        truth = breakdown["truths"]["audited"]
        assert len(set(figures.values())) == len(figures)
        assert truth == {"highest": max(figures, key=figures.get), "lowest": min(figures, key=figures.get)}
    assert without == ([("educational_attainment", "gender")] if name == "fact_or_fair_eu" else [])


@pytest.mark.parametrize("name", SHIPPED)
def test_every_breakdown_says_where_it_was_read(name: str) -> None:
    for statistic, _, breakdown in breakdowns(SHIPPED[name][0]):
        assert breakdown["kind"] == "rate", statistic
        assert all(
            source["url"].startswith("http") and source["publisher"] for source in breakdown["evidence"]
        )
        assert breakdown["evidence"]
