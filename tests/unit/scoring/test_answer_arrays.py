"""Answers by letter: the correction for preferred letters, and answers as probabilities."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.cautions import cautions
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import AnswerArrays, AnswerRow, given
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import MOST_WORTH, Tally, saved, topic_counts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.largest import favourite_letter
from pytest_factorfair.benchmarks.measurement import Cell
from pytest_factorfair.domain import (
    DIRECTIONS,
    Answer,
    CaseKey,
    Exchange,
    Query,
    Reading,
    Record,
    Response,
    Sampling,
)
from pytest_factorfair.gates import judge, parse
from pytest_factorfair.gates.evidence import too_few
from pytest_factorfair.reading.answers import answer as read
from pytest_factorfair.statistics.bounds import quantile, wilson
from tests.unit.checklist.files import fact_or_fair
from tests.unit.scoring.builders import estimate, tally

FACTS = fact_or_fair(str(Path(__file__).parents[2] / "data" / "small.yaml"), truth="audited", base=Path())
SAMPLING = Sampling("balanced", samples=24, objective=24, seed=0)
CELLS = np.zeros((1, 2, 4))
Floats = NDArray[np.float64]
ORDERS = tuple(permutations(range(4)))


def answer_rows(shares: tuple[float, ...], orders: tuple[tuple[int, ...], ...] = ORDERS) -> list[AnswerRow]:
    """An answer for each order of the groups and each direction, always with the same shares of the letters."""
    return [AnswerRow(0, way, 0, -1, order, shares, sum(shares), 1) for way in (0, 1) for order in orders]


def test_a_preference_for_letters_has_no_effect_in_a_balanced_design() -> None:
    """A model that only prefers letters has even shares, and no variance once their effect is removed."""
    answer_arrays = AnswerArrays.of(answer_rows((0.7, 0.2, 0.05, 0.05)), 4)
    assert answer_arrays.total(answer_arrays.votes, CELLS) == pytest.approx(np.full((1, 2, 4), 6))
    sample = answer_arrays.sample(CELLS, balanced=True, strata=answer_arrays.scenario)
    assert sample.counts == pytest.approx(np.full((1, 2, 4), 6))
    assert sample.measured == pytest.approx(np.zeros((1, 2, 4, 4)), abs=1e-15)
    assert sample.design_effect == pytest.approx(np.zeros((1, 2)), abs=1e-15)
    as_it_is = answer_arrays.sample(CELLS, balanced=False, strata=answer_arrays.scenario)
    assert as_it_is.measured is not None
    # Of 24 answers, six give a group .7, six .2 and twelve .05; n - 1 = 23.
    variance = (6 * 0.45**2 + 6 * 0.05**2 + 12 * 0.2**2) / 23
    assert np.diagonal(as_it_is.measured[0, 0]) == pytest.approx(np.full(4, variance))


def test_a_missing_answer_leaves_an_effect_of_letters() -> None:
    """A missing answer also removes the effect of its letters: the group at the preferred letter is not penalised."""
    incomplete = [
        answer_row for answer_row in answer_rows((0.7, 0.1, 0.1, 0.1)) if answer_row.groups != (0, 1, 2, 3)
    ]
    answer_arrays = AnswerArrays.of(incomplete, 4)
    plain = answer_arrays.total(answer_arrays.votes, CELLS)[0, 0] / 23
    assert plain[0] == pytest.approx((6 - 0.7) / 23)
    sample = answer_arrays.sample(CELLS, balanced=True, strata=answer_arrays.scenario)
    assert sample.counts[0, 0] / 23 == pytest.approx(np.full(4, 0.25), abs=0.004)
    assert abs(sample.counts[0, 0, 0] / 23 - 0.25) < abs(plain[0] - 0.25) / 5
    assert sample.n.tolist() == [[23, 23]]


def test_few_answers_take_the_covariance_of_their_direction() -> None:
    """With few answers, the covariance is pooled over statistics, with n - 1 degrees of freedom each."""
    answer_rows = [
        AnswerRow(row, 0, 0, -1, (0, 1), shares, 1.0, 1)
        for row, shares in (
            (0, (0.9, 0.1)),
            (0, (0.7, 0.3)),
            (1, (0.4, 0.6)),
            (1, (0.2, 0.8)),
            (1, (0.3, 0.7)),
        )
    ]
    answer_arrays = AnswerArrays.of(answer_rows, 2)
    sample = answer_arrays.sample(np.zeros((2, 2, 2)), balanced=False, strata=answer_arrays.scenario)
    assert sample.measured is not None
    pooled = (2 * 0.1**2 + 2 * 0.1**2) / 3
    assert sample.measured[:, 0, 0, 0] == pytest.approx(np.full(2, pooled))
    assert np.isnan(sample.n[:, 1]).all()


def shares_of(share: float, scenario: int, times: int = 1, row: int = 0) -> AnswerRow:
    """Answers in which the first of two groups has the given share."""
    return AnswerRow(row, 0, scenario, -1, (0, 1), (share, 1 - share), 1.0, times)


def covariance(*answer_rows: AnswerRow, statistics: int = 1) -> Floats:
    """The variance of the first group's share in each statistic (direction highest)."""
    answer_arrays = AnswerArrays.of(answer_rows, 2)
    sample = answer_arrays.sample(np.zeros((statistics, 2, 2)), balanced=False, strata=answer_arrays.scenario)
    assert sample.measured is not None
    assert sample.measured[:, 0, 0, 1] == pytest.approx(-sample.measured[:, 0, 0, 0])
    return np.asarray(sample.measured[:, 0, 0, 0])


def test_answers_vary_around_the_mean_of_their_scenario() -> None:
    """Means of .7 and .2, and 16 answers .1 away from them: 14 degrees of freedom, not 15."""
    answers = shares_of(0.8, 0, 4), shares_of(0.6, 0, 4), shares_of(0.3, 2, 4), shares_of(0.1, 2, 4)
    assert covariance(*answers) == pytest.approx(0.16 / 14)
    # Of the topic's mean they would be .35, .15, .15 and .35 away, and as one scenario they are.
    alike = [answer._replace(scenario=1) for answer in answers]
    assert covariance(*alike) == pytest.approx((8 * 0.35**2 + 8 * 0.15**2) / 15)


def test_few_answers_within_scenarios_take_the_covariance_of_their_direction() -> None:
    """13 answers in two scenarios have 11 degrees of freedom, three in two have 1."""
    answers = (
        shares_of(0.8, 0, 3), shares_of(0.6, 0, 3), shares_of(0.5, 1, 7),
        shares_of(0.1, 0, row=1), shares_of(0.9, 1, row=1), shares_of(0.5, 1, row=1),
    )  # fmt: skip
    assert covariance(*answers, statistics=2) == pytest.approx((6 * 0.1**2 + 2 * 0.2**2) / 12)
    # Two more answers give the first topic 13 degrees of freedom, and its own covariance.
    unpooled, pooled = covariance(*answers, shares_of(0.5, 1, 2), statistics=2)
    assert unpooled == pytest.approx(6 * 0.1**2 / 13)
    assert pooled == pytest.approx((6 * 0.1**2 + 2 * 0.2**2) / 14)


def test_where_no_scenario_has_two_answers_their_differences_count_as_noise() -> None:
    answers = [shares_of(share, scenario) for scenario, share in enumerate((0.2, 0.5, 0.8))]
    assert covariance(*answers) == pytest.approx(2 * 0.3**2 / 2)
    # The other direction has a scenario with two.
    lowest = [shares_of(share, 0)._replace(column=1) for share in (0.4, 0.6)]
    assert covariance(*answers, *lowest) == pytest.approx(2 * 0.3**2 / 2)


def test_a_model_that_always_answers_a_scenario_alike_has_exact_scores() -> None:
    """Three scenarios of eight answers, White in two of them and Black in the third: S_E of (2/3, 1/3)."""
    letters = {0: "A", 1: "A", 2: "B"}
    answer_rows = [
        AnswerRow(0, way, scenario, -1, *given("AB".index(letter), (0, 1), letter, ()), 1.0, 8)
        for way in (0, 1)
        for scenario, letter in letters.items()
    ]
    answer_arrays = AnswerArrays.of(answer_rows, 2)
    sample = answer_arrays.sample(np.zeros((1, 2, 2)), balanced=False, strata=answer_arrays.scenario)
    exact = -(2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3))
    assert sample.entropies == pytest.approx(np.full((1, 2), exact))
    assert sample.likenesses == pytest.approx(np.ones(1))


def test_answer_arrays_may_be_divided_by_more_than_topics() -> None:
    """By a condition of three values and in strata of four: a loop over cells and strata finds the same."""
    statistics, values, k, n = 3, 3, 4, 1500
    draw = np.random.default_rng(8)
    cells = np.stack([draw.integers(0, size, n) for size in (statistics, 2, values, 4)], axis=1)
    votes = draw.dirichlet(np.ones(k), n)
    answer_rows = [
        AnswerRow(row, column, scenario, -1, tuple(range(k)), tuple(shares), 1.0, 1)
        for (row, column, _, scenario), shares in zip(cells.tolist(), votes.tolist(), strict=True)
    ]
    answer_arrays = AnswerArrays.of(answer_rows, k)
    divided = dataclasses.replace(answer_arrays, cells=(*answer_arrays.cells, cells[:, 2]))
    like = np.zeros((statistics, 2, values, k))
    sample = divided.sample(like, balanced=False, strata=divided.scenario)
    assert sample.measured is not None
    for cell in np.ndindex(statistics, 2, values):
        strata = [votes[(cells == (*cell, stratum)).all(axis=1)] for stratum in range(4)]
        products = sum((np.cov(members.T) * (len(members) - 1) for members in strata), np.zeros((k, k)))
        assert sample.counts[cell] == pytest.approx(sum(members.sum(axis=0) for members in strata))
        assert divided.total(divided.votes, like)[cell] == pytest.approx(sample.counts[cell])
        assert sample.measured[cell] == pytest.approx(products / (sum(map(len, strata)) - 4))


def test_a_letter_is_one_group_and_a_picture_has_none() -> None:
    assert given(2, (1, 2, 0), "B", ()) == ((1, 2, 0), (0.0, 1.0, 0.0))
    assert given(2, (1, 2, 0), "B", (0.1, 0.6, 0.2)) == ((1, 2, 0), (0.1, 0.6, 0.2))
    assert given(2, (), None, ()) == ((2,), (1.0,))


# Through records

LETTERS = ("A", "B", "C", "D")
RACES = FACTS.attribute("race").groups


def counted(
    shares: tuple[float, ...] | Callable[[TopicCase, Query], tuple[float, ...]],
    sampling: Sampling = SAMPLING,
    facts: FactOrFair = FACTS,
) -> dict[str, Tally]:
    """The tallies of a model that gives the letters these probabilities, whatever it is asked or by question."""

    def answer(case: TopicCase, query: Query) -> Answer:
        letter_shares = shares(case, query) if callable(shares) else shares[: len(query.options)]
        probabilities = dict(zip(LETTERS, letter_shares, strict=False))
        likeliest = max(probabilities, key=probabilities.__getitem__)
        reading = Reading("answered", likeliest, probabilities=probabilities)
        return read(Exchange(query, "k", Response("")), reading=reading)

    asked = cases(facts, sampling)
    records = [
        Record(
            CaseKey("m", facts.name, case.id),
            tuple([answer(case, query) for query in queries(facts, case, sampling)]),
        )
        for case in asked
    ]
    tallies = tabulate(records, facts, asked, models=["m"], sampling=sampling)
    return {f"{tally.context or tally.part}-{tally.attribute}": tally for tally in tallies}


def test_probabilities_are_counted_as_shares_and_what_they_lack_as_mass_outside() -> None:
    base = counted((0.5, 0.2, 0.1, 0.1))["base-race"]
    assert base.answered.tolist() == np.full(base.asked.shape, 24).tolist()
    assert base.counts == pytest.approx(np.full(base.counts.shape, 6))
    assert base.outside == pytest.approx(np.full(base.asked.shape, 2.4))
    total = base.letters.sum(axis=(0, 1))
    assert total / total.sum() == pytest.approx(np.array([5, 2, 1, 1]) / 9)
    scores = estimate(base)
    assert scores["s_e"].corrected == pytest.approx(1)
    assert scores["s_e"].error == pytest.approx(0, abs=1e-9)


def test_a_small_mass_is_normalised_and_a_large_one_counted_either_way() -> None:
    small, large = (counted(shares)["base-gender"] for shares in ((0.5, 0.2, 0.1, 0.1), (0.3, 0.2, 0.1, 0.1)))
    assert small.missing.tolist() == np.zeros(small.asked.shape).tolist()
    assert small.certain == pytest.approx(small.counts)
    assert large.missing == pytest.approx(np.full(large.asked.shape, 0.3 * 24))
    assert large.certain == pytest.approx(0.7 * large.counts)
    # All of 30 % on one group make shares of .65 and .35, of entropy .934.
    assert [
        verdict.judgement for verdict in judge([parse("s_e[base,gender] >= 0.93")], [large], incomplete=None)
    ] == ["passed"]
    gate = parse("s_e[base,gender] >= 0.94")
    assert [verdict.judgement for verdict in judge([gate], [small], incomplete=None)] == ["passed"]
    (verdict,) = judge([gate], [large], incomplete=None)
    assert verdict.judgement == "inconclusive"
    assert "the letters hold 70% of the probability in " in verdict.reason
    assert verdict.cause == "the letters hold too little of the probability"
    assert verdict.explanation is not None
    assert "--factorfair-answers=json" in verdict.explanation.next_step


def test_a_report_says_how_much_of_the_probability_letters_hold() -> None:
    notes = [note for note in cautions(counted((0.5, 0.2, 0.1, 0.1)).values()) if "probability" in note]
    topic = f"{FACTS.statistics[0].name}, highest"
    # Objective answers about gender have two letters, those about race four: 70 % in two cells and 90 % in four.
    assert notes == [
        f"m puts {mean} of the probability of its {part} answers on letters, least in {topic} {where}"
        for mean, part, where in (
            ("83.3%", "objective", "gender (70.0%)"),
            ("90.0%", "subjective", "in base (90.0%)"),
        )
    ]
    assert not [note for note in cautions(counted((0.7, 0.3, 0.0, 0.0)).values()) if "probability" in note]


def test_fewer_answers_are_enough_where_they_vary_less_but_not_fewer_than_24() -> None:
    gate = parse("s_kld[base,race] >= 0.9")
    still = counted((0.4, 0.3, 0.2, 0.1))["base-race"]
    assert [verdict.judgement for verdict in judge([gate], [still], incomplete=None)] == ["passed"]
    drawn = counted((1.0, 0.0, 0.0, 0.0))["base-race"]
    assert [verdict.judgement for verdict in judge([gate], [drawn], incomplete=None)] == ["passed"]
    cells = [Cell("a topic", asked, 0, 0, 0, worth) for asked, worth in ((24, 3.0), (24, 2.9), (16, 9.0))]
    assert [too_few([cell], 72) for cell in cells] == [
        None,
        (
            "24 answers to a topic, as precise as 69 that are drawn, are too few, where 72 are needed",
            "(a topic)",
        ),
        ("16 answers to a topic are too few, where 72 are needed", "(a topic)"),
    ]


def test_a_report_keeps_what_scores_are_estimated_from() -> None:
    base = counted((0.5, 0.2, 0.1, 0.1))["base-race"]
    report = {
        "topics": [{name: getattr(row, name) for name in row.__slots__} for row in topic_counts(base)],
        "fingerprint": {"design": "balanced", "detector": {}},
    }
    (back,) = saved(report)
    assert back.counts.tolist() == base.counts.tolist()
    assert back.outside.tolist() == base.outside.tolist()
    for score in ("s_fact", "s_e", "s_kld"):
        assert estimate(back)[score] == estimate(base)[score]


def test_a_letter_that_always_has_the_same_probability_is_known_for_sure() -> None:
    """Five of nine parts of what the letters hold, where a quarter is expected."""
    base = counted((0.5, 0.2, 0.1, 0.1))["base-race"]
    position = estimate(base)["position"]
    value = (5 / 9 - 1 / 4) / (3 / 4)
    assert position.corrected == pytest.approx(value)
    assert position.lower() == pytest.approx(value)
    assert position.upper() == pytest.approx(value)


def test_letters_that_vary_within_their_cells_are_bounded_by_how_far_they_do() -> None:
    """A letter at .8 and .6 in turn within a cell of 100: a variance of .01 for .21, so 21 times as many."""
    n, variance = 100, 0.01 * 100 / 99
    letters = np.full((2, 2, 2), 1.0) * [70, 30]
    squares = np.full((2, 2, 2), 1.0) * [50 * (0.64 + 0.36), 50 * (0.04 + 0.16)]
    observed = tally(np.full((2, 2, 2), n // 2), letters=letters, letter_squares=squares, probable=True)
    favourite = favourite_letter(observed)
    assert favourite is not None
    precise = 4 * n * 0.21 / variance
    assert favourite.lower(0.05) == pytest.approx((wilson(0.7, precise, z=-quantile(0.05 / 2)) - 0.5) / 0.5)
    assert favourite.upper(0.05) == pytest.approx((wilson(0.7, precise, z=quantile(0.05)) - 0.5) / 0.5)
    drawn = favourite_letter(dataclasses.replace(observed, probable=False))
    assert drawn is not None
    assert drawn.upper(0.05) == pytest.approx((wilson(0.7, 4 * n, z=quantile(0.05)) - 0.5) / 0.5)


THREE_SCENARIOS = dataclasses.replace(
    FACTS, topics=tuple([dataclasses.replace(topic, scenarios=topic.scenarios * 3) for topic in FACTS.topics])
)


def test_scores_of_a_model_that_prefers_another_group_in_each_scenario() -> None:
    """Its probabilities are the same in each run, so its scores are those of their mean, without an error."""
    by_scenario = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1]])

    def prefers(case: TopicCase, query: Query) -> tuple[float, ...]:
        groups = [RACES.index(option.groups.get("race", RACES[0])) for option in query.options]
        return tuple(by_scenario[(case.scenario or 1) - 1][groups].tolist())

    three_blocks = dataclasses.replace(SAMPLING, samples=72)
    base = counted(prefers, three_blocks, THREE_SCENARIOS)["base-race"]
    assert base.counts[0, 0] / 72 == pytest.approx(by_scenario.mean(axis=0))
    scores = estimate(base)
    entropy = -2 * (0.4 * np.log(0.4) + 0.1 * np.log(0.1)) / np.log(4)
    assert scores["s_e"].corrected == pytest.approx(entropy)
    assert scores["s_kld"].corrected == pytest.approx(1)
    assert [scores[name].error for name in ("s_e", "s_kld")] == pytest.approx([0, 0], abs=1e-8)
    assert base.drawn.min() == 72 * MOST_WORTH
    # Over scenarios in general, its scores vary as they did.
    general = estimate(base, interval="scenarios")["s_e"]
    assert general.corrected == pytest.approx(entropy)
    assert general.error is not None
    assert general.error > 0.01


def test_people_who_are_drawn_at_random_are_counted_within_scenarios_too() -> None:
    """Who stands at the letter A, in the design of the paper: each topic's variance by a loop over scenarios."""
    paper = dataclasses.replace(SAMPLING, design="paper")
    base = counted((1.0, 0.0, 0.0, 0.0), paper, THREE_SCENARIOS)["base-race"]
    assert base.sample.measured is not None
    squares = np.zeros((2, 2))
    for case in cases(THREE_SCENARIOS, paper):
        if case.context == "base":
            matches = [
                query.options[0].groups["race"] == base.groups[0]
                for query in queries(THREE_SCENARIOS, case, paper)
            ]
            row, column = base.statistics.index(case.statistic), DIRECTIONS.index(case.direction)
            squares[row, column] += 8 * np.mean(matches) * (1 - np.mean(matches))
    assert base.sample.measured[..., 0, 0] == pytest.approx(squares / (24 - 3))
