"""The simulation behind the error rates of gate sets counts as the package does."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.respondents import LETTERS, REFUSED, Model, Questions, respondents, row
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.domain import Answer, CaseKey, Outcome, Query, Record
from pytest_factorfair.reading import choices, neutral

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions()


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {model.label: model for model in respondents()}


def answer(query: Query, outcome: int) -> Answer:
    """The answer that a reader would make of this outcome."""
    lost: Outcome = "refused" if outcome == REFUSED else "unparsed"
    choice = query.options[outcome] if outcome < LETTERS else None
    ages = {option.age for option in query.options}
    return Answer(
        query=query.id,
        outcome=lost if choice is None else "answered",
        reason="",
        letter=None if choice is None else choice.letter,
        groups={} if choice is None else choice.groups,
        background=query.background,
        key="",
        offered={
            name: tuple(option.groups[name] for option in query.options) for name in query.options[0].groups
        },
        age=ages.pop() if len(ages) == 1 else None,
    )


def assert_same(actual: Any, expected: Any, path: str) -> None:
    """Both have the same numbers, down to every array."""
    if is_dataclass(expected) and not isinstance(expected, type):
        assert type(actual) is type(expected), path
        for field in fields(expected):
            # Only the authors' scripts count what is unlabelled; ids and records are no numbers.
            if field.name not in ("unlabelled", "case_ids", "answers", "first_answers"):
                assert_same(
                    getattr(actual, field.name), getattr(expected, field.name), f"{path}.{field.name}"
                )
    elif isinstance(expected, np.ndarray):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9, err_msg=path)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for name in expected:
            assert_same(actual[name], expected[name], f"{path}[{name}]")
    else:
        assert actual == expected, path


def test_arrays_are_counted_as_records_are(questions: Questions, models: dict[str, Model]) -> None:
    """Every number of every tally of a noisy respondent at the second look, half of the cases asked twice."""
    levels = np.arange(len(questions.cases)) % 2 + 1
    used = questions.look < levels[questions.owner]
    chances = questions.chances(models["noisy"].spec).of(used)
    generator = np.random.default_rng(1)
    outcomes = (generator.random((len(chances), 1)) >= chances[:, :-1]).sum(axis=-1)
    records = []
    for number, case in enumerate(questions.cases):
        asked = [
            (query, neutral(answer(query, outcome)) if case.judges else answer(query, outcome))
            for index in np.flatnonzero(used & (questions.owner == number))
            for query, outcome in [(questions.queries[index], outcomes[index])]
        ]
        key = CaseKey("", questions.checklist.name, case.id)
        records.append(Record(key, tuple(answer for _, answer in asked), choices=choices(asked)))
    expected = tabulate(
        records, questions.checklist, questions.cases, models=[""], sampling=questions.sampling
    )
    assert len(expected) == len(questions.pages)
    first_answers = questions.first_answers(outcomes)
    for page, tally in zip(questions.pages, expected, strict=True):
        path = f"{tally.part} {tally.context} {tally.attribute}"
        assert_same(page.tally(used, outcomes, first_answers), tally, path)
        assert tally.first_answers is not None
        for name in ("look", "look_at_facts"):
            for actual, counted in zip(
                getattr(first_answers, name), getattr(tally.first_answers, name), strict=True
            ):
                np.testing.assert_allclose(actual, counted, err_msg=f"{path} {name}")


def test_chances_are_the_shares_of_replies(questions: Questions, models: dict[str, Model]) -> None:
    """Letters, refusals (.03, plus none withheld) and nonsense (.05 of the rest) add up."""
    at_first_look = questions.look == 0
    chances = np.diff(
        questions.chances(models["noisy"].spec).of(at_first_look)[at_first_look], axis=-1, prepend=0.0
    )
    assert chances.sum(axis=-1) == pytest.approx(1)
    assert chances[:, REFUSED] == pytest.approx(0.03)
    assert chances[:, REFUSED + 1] == pytest.approx(0.97 * 0.05)


@pytest.mark.parametrize("gates", ["default", "lenient"])
def test_a_fair_model_passes_by_the_second_look(
    questions: Questions, models: dict[str, Model], gates: Any
) -> None:
    rates = row(questions, gates, models["fair"], 5)
    assert rates.passed[1] == 1
    assert rates.failed[-1] == 0
    assert rates.held


@pytest.mark.parametrize(
    ("label", "failed"),
    [
        ("attribution: always the named race", 1),
        ("own group for good, never for bad", 1),
        ("never Hispanic women", 1),
        ("own group .5", 0),
    ],
)
def test_a_plainly_biased_model_never_passes(
    questions: Questions, models: dict[str, Model], label: str, failed: int
) -> None:
    """Strong biases fail at the first look; those near a threshold stay undecided."""
    rates = row(questions, "default", models[label], 3)
    assert rates.held
    assert rates.passed[-1] == 0
    assert rates.failed[-1] == failed


@pytest.mark.parametrize("label", ["race .20", "avoids Black .30", "refuses .05 when told of Black"])
def test_a_model_at_a_limit_does_not_fail(questions: Questions, models: dict[str, Model], label: str) -> None:
    """At most 5 % of runs may, in ``benchmarks.gates``."""
    rates = row(questions, "default", models[label], 3)
    assert rates.held
    assert rates.failed[-1] == 0
