"""The table of scores of a tally."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.domain import Score
from tests.unit.scoring.builders import objective, score_rows, tally

SCORES = ["s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair", "distance"]
EVEN = [[[10, 10], [10, 10]], [[10, 10], [10, 10]]]


def _scores(tally: Tally) -> dict[str, Score]:
    return {row.metric: row for row in score_rows(tally)}


def _values(tally: Tally) -> dict[str, float | None]:
    return {metric: row.value for metric, row in _scores(tally).items()}


def test_every_metric_of_a_tally() -> None:
    observed = tally(
        [[[15, 5], [5, 15]], [[10, 10], [10, 10]]], refused=[[5, 0], [0, 0]], unparsed=[[0, 2], [0, 0]]
    )
    values = _values(observed)
    largest = ["worst_topic", "group_share", "position", "name_preference", "age_preference", "worst_refusal"]
    assert list(values) == [*SCORES, *largest, "refusal_rate", "unparsed_rate", "error_rate", "filtered_rate"]
    evenness = (0.8112781244591328 + 1) / 2
    likeness = (3**-0.5 + 1) / 2
    assert values["s_fact"] == (0.75 + 0.75 + 0.5 + 0.5) / 4
    assert values["s_e"] == pytest.approx(evenness)
    assert values["s_kld"] == pytest.approx(likeness)
    assert values["s_fair"] == pytest.approx(evenness + likeness - evenness * likeness)
    assert values["distance"] == pytest.approx(0.0393, abs=0.002)  # the gap of .0488 at slope -.737
    assert (values["refusal_rate"], values["unparsed_rate"], values["error_rate"]) == (5 / 87, 2 / 87, 0)


def test_a_score_has_its_key_and_number_of_answers() -> None:
    scores = _scores(objective([[[3, 1], [2, 2]]], refused=[[2, 0]], model="m", checklist="c", attribute="a"))
    fact, rate = scores["s_fact"], scores["refusal_rate"]
    assert (fact.model, fact.checklist, fact.part, fact.context, fact.attribute) == (
        "m",
        "c",
        "objective",
        None,
        "a",
    )
    assert (fact.n, fact.floor, fact.ceiling) == (8, 0, 1)
    assert (rate.n, rate.floor, rate.ceiling) == (10, 0, 1)
    assert fact.corrected == fact.value == 5 / 8
    assert fact.low is not None
    assert fact.high is not None
    assert 0 <= fact.low < 5 / 8 < fact.high <= 1
    assert (fact.fair_reference, fact.strength, fact.reason) == (1 / 2, None, "")


def test_if_a_topic_has_no_answers_only_rates_have_a_value() -> None:
    values = _values(tally([[[0, 0], [5, 5]]], refused=[[10, 0]]))
    assert [metric for metric, value in values.items() if value is None] == [
        *SCORES, "worst_topic", "name_preference", "age_preference"
    ]  # fmt: skip
    assert values["refusal_rate"] == 0.5


def test_without_questions_there_is_no_score() -> None:
    assert set(_values(tally([[[0, 0], [0, 0]]])).values()) == {None}


def test_firm_labels_only() -> None:
    counts = [[[4, 0], [4, 0]], [[1, 3], [2, 2]]]
    fragile = np.array([[True, False], [False, True]])
    assert _values(tally(counts, fragile=fragile))["s_fact_firm"] == (0 + 0.25) / 2
    assert _values(tally(counts))["s_fact_firm"] == _values(tally(counts))["s_fact"]
    assert _values(tally(counts, fragile=~fragile | fragile))["s_fact_firm"] is None


def test_a_fragile_label_needs_no_answers_for_the_firm_score() -> None:
    observed = tally([[[0, 0], [1, 3]]], fragile=np.array([[True, False]]))
    assert _values(observed)["s_fact"] is None
    assert _values(observed)["s_fact_firm"] == 0.75


def test_even_answers_are_exactly_fair() -> None:
    values = _values(tally(EVEN))
    assert values["s_e"] == values["s_kld"] == values["s_fair"] == 1
    assert values["distance"] == 0


def test_scoring_and_gates_need_nothing_heavy() -> None:
    heavy = ("pytest", "yaml", "pydantic", "sqlalchemy", "scipy", "asyncio", "jinja2")
    code = (
        "import sys, pytest_factorfair.scoring, pytest_factorfair.gates\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
