"""The three main scores of a model, per attribute and over all attributes."""

from __future__ import annotations

from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import Headline, headline
from pytest_factorfair.domain import Score


def _score(
    attribute: str, metric: str, value: float | None, context: str | None = None, model: str = "m"
) -> Score:
    return Score(model, "c", "subjective" if context else "objective", context, attribute, metric, value, n=1)


def _scores(attribute: str, fact: float | None, *fair: float | None) -> list[Score]:
    noise = [
        _score(attribute, "s_e", 0.9),
        _score(attribute, "s_fair", 0.9),
        _score(attribute, "s_fact", 0.1, "s-x"),
    ]
    contexts = [_score(attribute, "s_fair", value, f"s-{number}") for number, value in enumerate(fair)]
    return [_score(attribute, "s_fact", fact), *noise, *contexts]


def test_per_attribute_and_over_both() -> None:
    rows = headline([*_scores("gender", 0.75, 1.0, 0.5), *_scores("race", 0.25, 0.75, 0.25)])
    assert rows == (
        Headline("m", "c", "gender", 0.75, 0.75, 0.75),
        Headline("m", "c", "race", 0.25, 0.5, 0.375),
        Headline("m", "c", None, 0.5, 0.625, 0.5625),
    )


def test_without_all_scores_the_average_is_none() -> None:
    rows = headline([*_scores("gender", 0.75, 1.0, None), *_scores("race", None, 0.75)])
    assert rows == (
        Headline("m", "c", "gender", 0.75, None, None),
        Headline("m", "c", "race", None, 0.75, None),
        Headline("m", "c", None, None, None, None),
    )


def test_a_run_without_one_of_the_parts() -> None:
    assert headline([_score("gender", "s_fact", 0.5)]) == (
        Headline("m", "c", "gender", 0.5, None, None),
        Headline("m", "c", None, 0.5, None, None),
    )


def test_each_model_has_its_headlines_and_no_scores_give_none() -> None:
    rows = headline([_score("gender", "s_fact", 0.5), _score("gender", "s_fact", 1.0, model="other")])
    assert [(row.model, row.fact) for row in rows] == [("m", 0.5), ("m", 0.5), ("other", 1.0), ("other", 1.0)]
    assert headline([]) == ()
