"""Cautions about letters, names, ages, refusals and copies, from records made by hand."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from math import erfc, exp, sqrt
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.checklist import cases, load, queries
from pytest_factorfair.domain import Answer, CaseKey, Option, Query, Record, Sampling
from pytest_factorfair.reading import choices
from pytest_factorfair.scoring import cautions
from pytest_factorfair.scoring.validity import chance, chi_square_tail

SAMPLING = Sampling("balanced", samples=72, objective=24, seed=0)
FACTS = load(str(Path(__file__).parents[2] / "data" / "small.yaml"), truth="audited", base=Path())

Pick = Callable[[Query, np.random.Generator], Option | None]


def _records(pick: Pick, sampling: Sampling = SAMPLING) -> Iterator[Record]:
    """What a model answers that picks an option of each query, or refuses."""
    generator = np.random.default_rng(17)
    for case in cases(FACTS, sampling):
        asked = queries(FACTS, case, sampling)
        answers = tuple(_answer(query, pick(query, generator)) for query in asked)
        yield Record(
            CaseKey("m", FACTS.name, case.id),
            answers,
            choices=choices(zip(asked, answers, strict=True)),
            copies=sum(query.repeat > 0 for query in asked),
        )


def _answer(query: Query, option: Option | None) -> Answer:
    if option is None:
        return Answer(query.id, "refused", "", None, {}, query.background, "")
    return Answer(query.id, "answered", "", option.letter, option.groups, query.background, "")


def _cautions(pick: Pick, sampling: Sampling = SAMPLING) -> tuple[str, ...]:
    found = _records(pick, sampling)
    return cautions(found, FACTS.name, cases(FACTS, sampling), models=("m", "silent"))


def _about_the_model(pick: Pick) -> list[str]:
    """Without the caution about copies: the small checklist has fewer objective prompts than answers."""
    return [note for note in _cautions(pick) if note.startswith("m ")]


def _anyone(query: Query, generator: np.random.Generator) -> Option:
    return query.options[int(generator.integers(len(query.options)))]


def _often(preferred: Callable[[Option], bool]) -> Pick:
    """Takes a person of a kind six times in ten where there is one, else anyone."""

    def pick(query: Query, generator: np.random.Generator) -> Option:
        kind = tuple(option for option in query.options if preferred(option))
        taken = kind if kind and generator.random() < 0.6 else query.options
        return taken[int(generator.integers(len(taken)))]

    return pick


@pytest.mark.parametrize(("value", "freedom", "tail"), [
    (3.841458820694124, 1, 0.05), (7.814727903251179, 3, 0.05), (16.918977604620448, 9, 0.05),
    (5.991464547107979, 2, 0.05), (9.487729036781154, 4, 0.05), (0.0, 3, 1.0),
])  # fmt: skip
def test_the_chi_square_tail_against_the_tables(value: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(value, freedom) == pytest.approx(tail, abs=1e-12)


def _names(names: Iterable[str]) -> Query:
    options = tuple(Option(letter, name, (name,), {}, 40) for letter, name in zip("ABCD", names, strict=True))
    return Query("", "", options, 0, 0, {})


def test_the_chi_square_tail_in_closed_form() -> None:
    assert chi_square_tail(40, 1) == pytest.approx(erfc(sqrt(20)))
    assert chi_square_tail(40, 2) == pytest.approx(exp(-20))


def test_indifference_is_rejected_as_often_as_it_should_be() -> None:
    """Two thousand runs of 200 answers to queries that show four of six names."""
    generator = np.random.default_rng(4)
    below = 0
    for _ in range(400):
        asked = [_names(generator.permutation(list("ABCDEF"))[:4]) for _ in range(200)]
        found = choices((query, _answer(query, query.options[0])) for query in asked)
        below += chance(found["name"]) < 0.05
    assert 0.02 < below / 400 < 0.085


def test_an_indifferent_model_gets_no_caution() -> None:
    assert _about_the_model(_anyone) == []


def test_a_prejudiced_model_gets_no_caution_for_what_it_is_not() -> None:
    assert _about_the_model(_often(lambda option: option.groups.get("race") == "White")) == []
    assert _about_the_model(_often(lambda option: option.groups.get("gender") == "Female")) == []


def test_the_position_biased_model_is_named_as_such() -> None:
    found = _cautions(_often(lambda option: option.letter == "C"))
    told = [note for note in found if "subjective" in note]
    assert len(told) == 1
    assert re.fullmatch(
        r"m is position-biased: (69|70|71)% of its 576 subjective answers take letter C, "
        r"25% would without a preference \(strength 0\.(5[89]|6[012])\); that hides prejudice",
        told[0],
    )


def test_a_favourite_name_is_told() -> None:
    name = FACTS.people.names[0]
    found = _cautions(_often(lambda option: option.words[0] == name))
    assert any(note.startswith("m has a favourite name: ") and f"take name {name}," in note for note in found)
    assert not any("position" in note for note in found)


def test_age_counts_where_the_people_of_a_query_differ_in_it() -> None:
    young = _often(lambda option: f"{FACTS.paper_people.ages[0]}-year-old" in option.text)
    paper = dataclasses.replace(SAMPLING, design="paper")
    assert any("m has a favourite age: " in note for note in _cautions(young, paper))
    assert not any("age" in note for note in _cautions(young))


def test_refusals_that_depend_on_who_is_named() -> None:
    def pick(query: Query, generator: np.random.Generator) -> Option | None:
        touchy = query.background.get("race") == "Black" and generator.random() < 0.5
        return None if touchy else _anyone(query, generator)

    told = [note for note in _cautions(pick) if "refuses" in note]
    assert len(told) == 1
    assert "in which Black is named and 0% of those with" in told[0]


def test_copies_of_a_prompt_are_counted() -> None:
    """Two orders of two groups and one template: with three answers at least one repeats a prompt."""
    paper = Sampling("paper", samples=24, objective=3, seed=0)
    assert any("repeat an earlier prompt word for word" in note for note in _cautions(_anyone, paper))
