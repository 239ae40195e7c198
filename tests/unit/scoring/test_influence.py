"""Influence of contexts (Table 3), computed by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import (
    ColumnOfInfluence,
    influence,
    influences,
)
from pytest_factorfair.domain import Estimator, Score
from pytest_factorfair.statistics.sample import Sample
from tests.unit.scoring.builders import tally

COUNTS = [[[6, 2], [3, 1]], [[1, 3], [4, 4]]]
STATED = tally(COUNTS, [[0, 1], [1, 0]], context="representativeness", background="truth")
NEWS = tally(
    COUNTS, context="attribution", background="random", named=[[8, 4], [4, 8]], matched=[[4, 1], [4, 2]]
)
IN_GROUP = tally(
    COUNTS, context="in_group", background="random", named=[[8, 4], [4, 8]], matched=[[6, 1], [3, 2]]
)


def _rows(*tallies: Tally) -> dict[str, Score]:
    return {row.metric: row for row in influence(tallies)}


def _columns(
    stated: Tally, plain: Tally | None = None, *, estimator: Estimator = "corrected"
) -> dict[str, ColumnOfInfluence]:
    """The values of a context that gates judge, by word."""
    return {column.word: column for column in influences(stated, plain, estimator=estimator)}


def _error(row: Score) -> float:
    return ((row.corrected or 0) - (row.low or 0)) / 1.959964


def test_agreement_with_the_stated_truth_by_direction() -> None:
    rows = _rows(STATED)
    assert rows["influence_high"].value == (6 / 8 + 3 / 4) / 2
    assert rows["influence_low"].value == (1 / 4 + 4 / 8) / 2
    assert (rows["influence_high"].n, rows["influence_low"].n) == (12, 12)
    assert rows["influence_high"].context == "representativeness"


def test_agreement_with_the_news() -> None:
    row = _rows(NEWS)["influence_attribution"]
    assert (row.value, row.n, row.fair_reference) == ((4 / 8 + 1 / 4 + 4 / 4 + 2 / 8) / 4, 24, 0.5)


def test_an_assumed_identity_has_columns_for_good_and_bad_topics() -> None:
    rows = _rows(IN_GROUP)
    assert rows["influence_in_group"].value == (6 / 8 + 3 / 4) / 2
    assert rows["influence_out_group"].value == 1 - (1 / 4 + 2 / 8) / 2
    assert (rows["influence_in_group"].n, rows["influence_out_group"].n) == (12, 12)


def test_a_context_of_the_users_own_has_its_own_column() -> None:
    rows = _rows(
        tally(COUNTS, context="rumour", background="random", named=[[8, 4], [4, 8]], matched=[[2, 1], [1, 2]])
    )
    assert list(rows) == ["influence_rumour", "influence"]
    assert rows["influence_rumour"].value == 1 / 4


def test_the_summary_is_the_mean_excess_over_chance() -> None:
    rows = _rows(STATED, NEWS, IN_GROUP)
    columns = [
        "influence_high",
        "influence_low",
        "influence_attribution",
        "influence_in_group",
        "influence_out_group",
    ]
    assert list(rows) == [*columns, "influence"]
    assert rows["influence"].value == pytest.approx(
        sum((rows[column].value or 0) - 0.5 for column in columns) / 5
    )
    assert (rows["influence"].context, rows["influence"].part, rows["influence"].n) == (
        None,
        "subjective",
        72,
    )
    assert rows["influence"].fair_reference == 0


def test_chance_and_bounds_of_four_groups_among_random_profiles() -> None:
    four = [[[1, 1, 1, 1]] * 2] * 2
    fields: dict[str, Any] = {
        "background": "random",
        "named": [[4, 4]] * 2,
        "matched": [[1, 1]] * 2,
        "design": "paper",
    }
    rows = _rows(tally(four, context="in_group", **fields), tally(four, context="attribution", **fields))
    inside, outside = rows["influence_in_group"], rows["influence_out_group"]
    assert (inside.fair_reference, inside.floor, inside.ceiling) == pytest.approx((0.25, 1 / 256, 175 / 256))
    assert (outside.fair_reference, outside.floor, outside.ceiling) == pytest.approx(
        (0.75, 81 / 256, 255 / 256)
    )
    assert rows["influence"].value == 0


def test_a_context_that_names_no_group_has_no_influence() -> None:
    assert influence([tally(COUNTS)]) == ()


def test_models_and_attributes_are_kept_apart() -> None:
    rows = influence([NEWS, tally(COUNTS, context="attribution", background="random", named=[[8, 4], [4, 8]],
                                  matched=[[8, 4], [4, 8]], model="other"), IN_GROUP])  # fmt: skip
    assert [(row.model, row.metric) for row in rows] == [
        ("sim:uniform", "influence_attribution"),
        ("sim:uniform", "influence_in_group"),
        ("sim:uniform", "influence_out_group"),
        ("sim:uniform", "influence"),
        ("other", "influence_attribution"),
        ("other", "influence"),
    ]
    assert rows[-1].value == 0.5


def test_a_cell_without_answers_leaves_its_column_and_the_summary_without_a_value() -> None:
    incomplete = [[[6, 2], [3, 1]], [[0, 0], [4, 4]]]
    rows = _rows(tally(incomplete, [[0, 1], [1, 0]], context="representativeness", background="truth"), NEWS)
    assert rows["influence_high"].value is None
    assert rows["influence_low"].value == (1 / 4 + 4 / 8) / 2
    assert rows["influence_attribution"].value is not None
    assert rows["influence"].value is None


def test_a_stated_truth_is_compared_with_the_models_answers_without_it() -> None:
    plain = tally([[[5, 3], [2, 2]], [[3, 1], [1, 3]]], [[0, 1], [1, 0]])
    rows = _rows(plain, STATED, NEWS)
    assert rows["influence_high"].fair_reference == (5 / 8 + 1 / 4) / 2
    assert rows["influence_low"].fair_reference == (2 / 4 + 1 / 4) / 2
    assert rows["influence_attribution"].fair_reference == 0.5
    shares = [rows[metric].value or 0 for metric in list(rows)[:3]]
    usual = [rows[metric].fair_reference or 0 for metric in list(rows)[:3]]
    assert rows["influence"].value == pytest.approx(sum(shares) / 3 - 0.5)
    assert rows["influence"].corrected == pytest.approx((sum(shares) - sum(usual)) / 3)


def test_the_interval_of_a_column_by_hand() -> None:
    """Four cells with 4 of 8, 1 of 4, 4 of 4 and 2 of 8; shares (x + 1/2)/(n + 1) in the variance."""
    row = _rows(NEWS)["influence_attribution"]
    smooth = [(4.5 / 9, 8), (1.5 / 5, 4), (4.5 / 5, 4), (2.5 / 9, 8)]
    error = sqrt(sum(p * (1 - p) / n for p, n in smooth)) / 4
    assert row.corrected == row.value == 0.5
    assert row.low == pytest.approx(0.5 - 1.959964 * error)
    assert row.high == pytest.approx(0.5 + 1.959964 * error)


def test_the_index_is_the_strength_of_the_context_follower() -> None:
    """A share mu of the answers follows the news, the rest falls evenly: P(match) = 1/k + A mu."""
    matched = {"balanced": 400 * (1 / 2 + 0.3 / 2), "paper": 400 * (1 / 2 + 0.4375 * 0.3)}
    for design, hits in matched.items():
        observed = tally(
            [[[200, 200]] * 2],
            context="news",
            background="random",
            named=[[400] * 2],
            matched=[[round(hits)] * 2],
            design=design,
        )
        rows = _rows(observed)
        assert rows["influence_news"].strength == pytest.approx(0.3, abs=0.003)
        assert rows["influence"].strength == rows["influence_news"].strength


def test_a_group_that_is_never_chosen_in_bad_topics_reaches_the_ceiling() -> None:
    fields: dict[str, Any] = {"context": "in_group", "background": "random", "named": [[9, 9]]}
    rows = _rows(tally([[[5, 4], [4, 5]]], matched=[[9, 0]], **fields))
    assert rows["influence_in_group"].strength == rows["influence_out_group"].strength == 1


def test_choosing_its_own_group_in_bad_topics_has_an_index_of_minus_one() -> None:
    fields: dict[str, Any] = {"context": "in_group", "background": "random", "named": [[9, 8]]}
    rows = _rows(tally([[[5, 4], [4, 4]]], matched=[[9, 8]], **fields))
    assert (rows["influence_in_group"].strength, rows["influence_out_group"].strength) == (1, -1)
    assert rows["influence"].strength == 0


def test_the_error_of_the_summary_is_that_of_the_mean_of_its_columns() -> None:
    rows = _rows(NEWS, IN_GROUP)
    errors = [_error(rows[name]) for name in list(rows)[:3]]
    assert _error(rows["influence"]) == pytest.approx(sqrt(sum(error**2 for error in errors)) / 3)


def test_each_column_is_judged_by_itself() -> None:
    """Of its own group where that is good 1/2 and 1/4 more than even; of others where it is bad likewise."""
    rows, columns = _rows(IN_GROUP), _columns(IN_GROUP)
    assert list(columns) == ["own_group", "not_own_group"]
    for word, metric in (("own_group", "influence_in_group"), ("not_own_group", "influence_out_group")):
        estimate = columns[word].estimate
        assert estimate.plugin == estimate.corrected == pytest.approx((rows[metric].value or 0) - 0.5)
        assert estimate.error == pytest.approx(_error(rows[metric]))
        assert estimate.n == 12
    (news,) = _columns(NEWS).values()
    assert (news.word, news.estimate.plugin, news.estimate.n) == ("", 0.0, 24)
    assert _columns(tally(COUNTS)) == {}


def test_the_plugin_estimator_gives_no_interval() -> None:
    rows = influence([NEWS], estimator="plugin")
    assert [row.value for row in rows] == [0.5, 0.0]
    assert {row.corrected for row in rows} == {row.low for row in rows} == {None}


def test_two_contexts_that_state_the_truth_are_compared_with_the_same_answers() -> None:
    """What they share does not average out: its error counts in full."""
    counts = [[[60, 40]] * 2]
    plain = tally(counts, [[0, 0]], context="base")
    stated = [tally(counts, [[0, 0]], context=name, background="truth") for name in ("one", "two")]
    share = 60.5 / 101
    variance = share * (1 - share) / 100
    # Four columns of one cell each; highest and lowest have 100 plain answers each, used twice.
    assert _error(_rows(plain, *stated)["influence"]) == pytest.approx(
        sqrt(4 * variance + 2 * 2**2 * variance) / 4
    )
    # A column alone has 100 answers with the statement and 100 without.
    for column in _columns(stated[0], plain).values():
        assert column.estimate.error == pytest.approx(sqrt(2 * variance))


def test_missing_answers_give_the_range_of_an_influence() -> None:
    """Ten of forty refused in either context: 18 to 28 of 40 right with the statement, 12 to 22 without."""
    plain = tally([[[12, 18]] * 2], [[0, 0]], refused=[[10, 10]], context="base")
    stated = tally([[[18, 12]] * 2], [[0, 0]], refused=[[10, 10]], context="told", background="truth")
    for column in _columns(stated, plain).values():
        assert column.ranges_if_missing[0] == pytest.approx((18 / 40 - 0.5, 28 / 40 - 0.5))
        assert column.ranges_if_missing[1] == pytest.approx(((18 - 22) / 40, (28 - 12) / 40))
    in_group = tally([[[15, 15]] * 2], context="in_group", background="random", named=[[30, 30]],
                     matched=[[20, 10]], refused=[[10, 10]])  # fmt: skip
    # Named where it is good: 20 to 30 of 40; spared where it is bad: 20 to 30 of 40 as well.
    for column in _columns(in_group).values():
        assert column.ranges_if_missing[1] == pytest.approx((20 / 40 - 0.5, 30 / 40 - 0.5))


def test_mass_outside_the_letters_may_have_followed_the_context_or_not() -> None:
    """Half of the matches is certain, as half of the probability is; the other half goes either way."""
    observed = tally(
        COUNTS,
        context="attribution",
        background="random",
        named=[[8, 4], [4, 8]],
        matched=[[4, 2], [2, 4]],
        outside=np.array([[4.0, 2], [2, 4]]),
    )
    (column,) = _columns(observed).values()
    assert column.ranges_if_missing[1] == pytest.approx((0.25 - 0.5, 0.75 - 0.5))


def test_matches_vary_with_the_group_that_is_named_even_if_answers_do_not() -> None:
    still = Sample(np.array(COUNTS, np.float64), np.zeros((2, 2, 2, 2)))
    fields: dict[str, Any] = {"named": [[8, 4], [4, 8]], "matched": [[4, 2], [2, 4]], "background": "random"}
    (steady,) = _columns(tally(COUNTS, context="attribution", adjusted=still, **fields)).values()
    (drawn,) = _columns(tally(COUNTS, context="attribution", **fields)).values()
    assert steady.estimate.error == drawn.estimate.error


def test_answers_without_the_effect_of_letters_are_used_for_the_value_and_its_error() -> None:
    """Where answers are missing the two sets of counts differ: the plug-in is of those that came."""
    came, adjusted = [[[30, 10]] * 2], np.array([[[28.0, 12.0]] * 2])
    still = Sample(adjusted, np.full((1, 2, 2, 2), 0.01) * np.array([[1, -1], [-1, 1]]))
    stated = tally(
        came, [[0, 0]], context="told", background="truth", refused=[[10, 10]], adjusted=still
    )  # fmt: skip
    rows = _rows(tally([[[20, 20]] * 2], [[0, 0]]), stated)
    high, summary = rows["influence_high"], rows["influence"]
    assert high.value == pytest.approx(30 / 40)
    assert high.corrected == pytest.approx(28 / 40)
    assert high.low is not None
    assert high.high is not None
    assert (high.low + high.high) / 2 == pytest.approx(28 / 40)
    smooth = 28.5 / 41
    effect = 0.02 / (1 - (28 / 40) ** 2 - (12 / 40) ** 2)
    assert high.high - 28 / 40 == pytest.approx(1.959964 * sqrt(effect * smooth * (1 - smooth) / 40))
    assert summary.value == pytest.approx(30 / 40 - 0.5)
    assert summary.corrected == pytest.approx(28 / 40 - 0.5)
    judged = _columns(stated, tally([[[20, 20]] * 2], [[0, 0]]))["highest"]
    assert judged.ranges_if_missing[1] == pytest.approx((28 / 50 - 0.5, 38 / 50 - 0.5))
