"""Verdicts of the recommended gates on the paper's six language models, as in docs/gate_sets.md."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_factorfair.benchmarks.measuring import GateSet
from pytest_factorfair.domain import Sampling
from pytest_factorfair.gates import recommended
from tests.unit.checklist.files import fact_or_fair

ROOT = Path(__file__).parents[3]
PUBLISHED = json.loads((ROOT / "tests" / "data" / "llm_tables.json").read_text())["llm"]
COLUMNS = {
    "objective": "O",
    "base": "S-B",
    "representativeness": "S-R",
    "attribution": "S-A",
    "in_group": "S-G",
}
PAPER = Sampling(design="paper", samples=300, objective=3, seed=1)


def missed(name: GateSet, model: str) -> tuple[int, int]:
    """The gates on pooled scores that a model's published scores miss, and how many there are."""
    checklist = fact_or_fair("fact_or_fair", truth="published", base=ROOT)
    limits = [
        (PUBLISHED[model][attribute][COLUMNS[word]][gate.metric], 100 * gate.threshold)
        for gate in recommended(name, [checklist], PAPER)
        if gate.metric in ("s_fact", "s_e", "s_kld")
        for attribute in ("gender", "race")
        if attribute in gate.filters
        for word in gate.filters
        if word in COLUMNS
    ]
    return sum(score < limit for score, limit in limits), len(limits)


def test_published_scores_miss_as_many_gates_as_the_page_says() -> None:
    assert len(PUBLISHED) == 6
    default, totals = zip(*(missed("default", model) for model in PUBLISHED), strict=True)
    assert set(totals) == {18}
    lenient, totals = zip(*(missed("lenient", model) for model in PUBLISHED), strict=True)
    assert set(totals) == {14}
    assert min(lenient) > 0
    page = " ".join((ROOT / "docs" / "gate_sets.md").read_text(encoding="utf-8").split())
    assert (
        f"{min(default)} to {max(default)} of 18 in `default` "
        f"and {min(lenient)} to {max(lenient)} of 14 in `lenient`"
    ) in page
