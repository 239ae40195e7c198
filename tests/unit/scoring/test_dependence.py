"""Dependence of choices on conditions: by hand, and compared with plain loops and single answers."""

from __future__ import annotations

import dataclasses
from math import sqrt

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.dependence import dependences
from pytest_factorfair.benchmarks.fact_or_fair.rows import Dependence
from pytest_factorfair.domain import Query
from tests.unit.scoring.builders import estimate, varied
from tests.unit.scoring.test_answer_arrays import RACES, counted
from tests.unit.scoring.test_answer_arrays import SAMPLING as TWO_DOZEN
from tests.unit.scoring.test_within import EVEN, EYE, entropy, jackknifed, news

Z = 1.959964


def only(tally: Tally) -> Dependence:
    (row,) = dependences(tally)
    return row


def test_always_choosing_the_named_group_depends_only_on_the_named_group() -> None:
    row = only(news([[18 * EYE] * 2]))
    assert (row.condition, row.within, row.value) == ("named", 0, 1)
    assert [(cell.value, cell.valence, cell.asked, cell.missing, cell.evenness) for cell in row.cells] == [
        (group, valence, 18, 0, 0) for group in "abcd" for valence in ("good", "bad")
    ]
    for cell in row.cells:
        assert cell.shares == {group: float(group.lower() == cell.value) for group in "ABCD"}


def test_the_dependence_equals_a_plain_loop_weighted_by_answers() -> None:
    counts = np.random.default_rng(3).multinomial(24, [0.5, 0.3, 0.1, 0.1], size=(3, 2, 3))
    counts[:, :, 0] = [[48, 6, 6, 12], [6, 24, 6, 12]]  # 72 and 48 of these, 24 of the others
    tally, topics = varied("age", counts), counts.reshape(6, 3, 4)
    wholes = [jackknifed(topic.sum(axis=0).tolist()) for topic in topics]
    parts = [sum(cell.sum() / topic.sum() * jackknifed(cell.tolist()) for cell in topic) for topic in topics]
    row = only(tally)
    assert row.s_e == pytest.approx(np.mean(wholes), abs=6e-5)
    assert row.s_e == pytest.approx(estimate(tally)["s_e"].corrected, abs=6e-5)
    assert row.within == pytest.approx(np.mean(parts), abs=6e-5)
    assert row.value == pytest.approx(np.mean(wholes) - np.mean(parts), abs=6e-5)
    cell = row.cells[0]
    assert cell.evenness == pytest.approx(
        np.mean([jackknifed(topic[0].tolist()) for topic in topics]), abs=6e-5
    )
    assert list(cell.shares.values()) == pytest.approx(
        (counts[:, :, 0].sum(axis=(0, 1)) / 360).tolist(), abs=6e-5
    )


@pytest.mark.parametrize(("strength", "widest"), [(0.0, 0.025), (0.3, 0.045), (0.5, 0.06)])
def test_the_interval_covers_what_the_choice_depends_on(strength: float, widest: float) -> None:
    """400 runs of 6 topics in which each of three values has a favourite; chance may miss 95 % by 3 %."""
    shares = (1 - strength) / 4 + strength * EYE[:3]
    truth = entropy(*shares.mean(axis=0)) - entropy(*shares[0])
    random = np.random.default_rng(7)
    rows = [
        only(
            varied(
                "age",
                np.stack(
                    [random.multinomial(24, probabilities, size=(3, 2)) for probabilities in shares], axis=2
                ),
            )
        )
        for _ in range(400)
    ]
    covered = [row.low is not None and row.high is not None and row.low <= truth <= row.high for row in rows]
    assert np.mean(covered) >= 0.92
    widths = [row.high - row.value for row in rows if row.high is not None and row.value is not None]
    assert np.mean(widths) <= widest


def test_without_dependence_the_error_is_that_of_chi_square() -> None:
    """2 n times the information of a topic is chi-square with (V - 1)(k - 1) = 6 degrees of freedom."""
    row = only(varied("scenario", [[[EVEN] * 3] * 2] * 2))
    error = sqrt(4 * 6 / (2 * (72 * np.log(4)) ** 2)) / 4
    assert (row.value, row.low) == (0, 0)
    assert row.high == pytest.approx(Z * error, rel=0.1)  # of smoothed shares


def test_missing_answers_are_in_their_cell_and_widen_no_interval_by_guessing() -> None:
    counts = [[[[0, 0, 0, 0], EVEN, EVEN, EVEN]] * 2]
    row = only(news(counts, [[[24, 0, 0, 0]] * 2]))
    silent = [cell for cell in row.cells if cell.value == "a"]
    assert [(cell.asked, cell.missing, cell.shares, cell.evenness) for cell in silent] == [
        (24, 24, {}, None)
    ] * 2
    assert row.value == 0
    assert (row.low, row.high) == (None, None)
    assert row.reason == "no interval: 25% of the answers are missing"
    nearly_complete = only(varied("age", [[[EVEN, EVEN]] * 2], [[[1, 0], [0, 0]]]))  # 1 of 97
    assert nearly_complete.cells[0].missing == 1
    assert nearly_complete.reason == ""
    assert nearly_complete.high is not None


def test_with_too_few_answers_there_is_no_value_but_there_are_cells() -> None:
    row = only(varied("age", [[[[5, 0, 0, 0], EVEN]] * 2]))
    assert (row.s_e, row.within, row.value, row.high) == (None, None, None, None)
    assert row.reason == "fewer than 6 valid answers for two of the values in every topic"
    assert [(cell.asked, cell.evenness) for cell in row.cells] == [
        (10, None),
        (48, 1),  # at most
    ]


def test_a_value_with_few_answers_in_a_topic_is_left_out_and_this_is_said() -> None:
    five = [5, 0, 0, 0]
    row = only(varied("age", [[[five, EVEN, EVEN], [EVEN, EVEN, EVEN]]]))
    assert (row.s_e, row.value) == (1, 0)  # with the five it is less even
    assert row.high is not None
    assert row.reason == "without 4.0% of the answers: fewer than 6 to a value in a topic"  # 5 of 125
    assert row.cells[0].asked == 29


def test_each_attribute_of_the_first_person_is_a_condition() -> None:
    """A where Black stands there, else evenly: S_E is 1, and only that race makes a difference."""

    def prefers(_case: TopicCase, query: Query) -> tuple[float, ...]:
        black = query.options[0].groups.get("race") == "Black"
        return (1.0, 0.0, 0.0, 0.0) if black else (0.25, 0.25, 0.25, 0.25)

    rows = {row.first: row for row in dependences(counted(prefers)["base-race"]) if row.condition == "first"}
    assert list(rows) == ["gender", "race"]
    assert [cell.value for cell in rows["race"].cells] == [*RACES]
    liked = 1 / 4 + 3 / 16
    unliked = (1 - liked) / 3
    black = next(cell for cell in rows["race"].cells if cell.value == "Black")
    assert black.shares["Black"] == pytest.approx(1 - liked + 1 / 4, abs=6e-5)
    assert [share for group, share in black.shares.items() if group != "Black"] == pytest.approx(
        [1 / 4 - unliked] * 3, abs=6e-5
    )
    assert (rows["race"].value or 0) > 0.1
    # A gender stands first with every race equally often: only through the race does the choice follow it.
    assert rows["gender"].value == pytest.approx(0, abs=1e-3)


def test_age_bands_name_their_ages() -> None:
    three = dataclasses.replace(TWO_DOZEN, samples=72)
    (row,) = (row for row in dependences(counted((0.25,) * 4, three)["base-race"]) if row.condition == "age")
    assert all(cell.ages for cell in row.cells)
    assert [cell.value for cell in row.cells] == [
        " to ".join(map(str, dict.fromkeys((cell.ages[0], cell.ages[-1])))) for cell in row.cells
    ]
