"""Evenness within conditions and combinations of attributes: by hand, and compared with plain loops."""

from __future__ import annotations

import dataclasses
from math import log, log2, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.combined import selected
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import ConditionValue, CrossedCounts, Tally
from pytest_factorfair.benchmarks.measurement import CORRECTED
from pytest_factorfair.domain import Answer, Design, Query, Sampling, Verdict
from pytest_factorfair.gates import judge, parse, rule
from pytest_factorfair.statistics.estimate import Estimate, SeveralScores, SeveralShares
from tests.unit.gates.planned import planned
from tests.unit.scoring import checklists
from tests.unit.scoring.builders import estimate, objective, tally, tally_metric, toward, varied
from tests.unit.scoring.test_answer_arrays import RACES, THREE_SCENARIOS, counted
from tests.unit.scoring.test_answer_arrays import SAMPLING as TWO_DOZEN

EYE = np.eye(4)
EVEN = [6, 6, 6, 6]


def z(alpha: float) -> float:
    return NormalDist().inv_cdf(1 - alpha)


def entropy(*shares: float) -> float:
    """The entropy of shares over the logarithm of their number."""
    return -sum(share * log2(share) for share in shares if share) / log2(len(shares))


def within(tally: Tally) -> Estimate:
    (name,) = (f"s_e_within_{condition}" for condition in tally.conditions)
    return estimate(tally)[name]


def several(tally: Tally) -> SeveralScores:
    among = within(tally).among
    assert isinstance(among, SeveralScores)
    return among


def news(counts: ArrayLike, missing: ArrayLike | None = None, context: str = "attribution") -> Tally:
    return varied("named", counts, missing, context=context, background="random")


def test_always_choosing_the_named_group_is_even_overall_and_uneven_within() -> None:
    follower = news([[18 * EYE] * 2])
    assert estimate(follower)["s_e"].plugin == 1
    assert within(follower).corrected == 0
    (verdict,) = judge([parse("s_e_within[named] >= 0.774")], [follower], incomplete=None)
    assert (verdict.judgement, verdict.subject) == ("failed", "s_e_within[attribution,race,named]")


def test_another_group_in_each_scenario_is_even_overall_and_uneven_within() -> None:
    """Three groups with .75 + .25/4 in one scenario each; the fourth has what is left."""
    strong, weak = 39, 3
    shares = [[strong if group == scenario else weak for group in range(4)] for scenario in range(3)]
    observed = varied("scenario", [[shares] * 2] * 2)
    assert tally_metric("s_e_within").plugin(observed) == within(observed).plugin
    plain = entropy(39 / 48, 3 / 48, 3 / 48, 3 / 48)
    assert within(observed).plugin == pytest.approx(plain, abs=0.03)  # less the bias of the plug-in
    assert (estimate(observed)["s_e"].plugin or 0) == pytest.approx(
        entropy(45 / 144, 45 / 144, 45 / 144, 9 / 144)
    )
    # Scenarios of different topics have nothing to tell them apart by.
    assert len(several(observed).names) == 1


def jackknifed(counts: list[int]) -> float:
    n = sum(counts)
    whole = entropy(*(number / n for number in counts))
    leave_one_out = 0.0
    for group, number in enumerate(counts):
        if not number:
            continue
        without = [count - (index == group) for index, count in enumerate(counts)]
        leave_one_out += number / n * entropy(*(count / (n - 1) for count in without))
    return n * whole - (n - 1) * leave_one_out


def variance(counts: list[int]) -> float:
    """The variance sum p IF^2 / n + (k - 1) / (2 n^2 ln^2 k), with half an answer added to each group."""
    n, k = sum(counts), len(counts)
    shares = [(number + 0.5) / (n + k / 2) for number in counts]
    surprises = [-log(share) / log(k) for share in shares]
    mean = sum(share * surprise for share, surprise in zip(shares, surprises, strict=True))
    delta = sum(share * (surprise - mean) ** 2 for share, surprise in zip(shares, surprises, strict=True)) / n
    return delta + (k - 1) / (2 * n**2 * log(k) ** 2)


def test_values_and_errors_equal_those_of_a_plain_loop() -> None:
    counts = np.random.default_rng(3).multinomial(24, [0.4, 0.3, 0.2, 0.1], size=(3, 2, 3))
    among = several(varied("age", counts))
    for value in range(3):
        cells = counts[:, :, value].reshape(-1, 4).tolist()
        assert among.centres[value] == pytest.approx(np.mean([jackknifed(cell) for cell in cells]))
        assert among.errors[value] == pytest.approx(sqrt(sum(variance(cell) for cell in cells)) / 6)
    assert among.names == tuple(f"when the people are {value} years old" for value in "abc")
    assert within(varied("age", counts)).corrected == min(among.centres)


def test_cells_with_fewer_than_six_answers_are_left_out() -> None:
    five, six = [5, 0, 0, 0], [6, 0, 0, 0]
    assert within(varied("scenario", [[[EVEN, five], [EVEN, EVEN]]])).corrected == pytest.approx(
        jackknifed(EVEN)
    )
    assert within(varied("scenario", [[[EVEN, six], [EVEN, EVEN]]])).corrected == pytest.approx(
        jackknifed(EVEN) * 3 / 4
    )
    undefined = within(varied("scenario", [[[five, five], [five, five]]]))
    assert undefined.corrected is None
    assert undefined.reason.startswith("fewer than 6 valid answers")


def test_a_refused_scenario_may_have_any_evenness() -> None:
    """One cell of six is lost: five are even, and the sixth anything from 0 to 1."""
    counts = [[[[0, 0, 0, 0], EVEN, EVEN], [EVEN, EVEN, EVEN]]]
    observed = varied("scenario", counts, [[[24, 0, 0], [0, 0, 0]]])
    among = several(observed)
    assert (among.fall[0], among.rise[0]) == pytest.approx((1 / 6, 0))
    error = sqrt(5 * variance(EVEN)) / 5
    assert among.lower(0.05) == pytest.approx(jackknifed(EVEN) - 1 / 6 - z(0.05) * error)


def test_a_condition_value_that_is_always_refused_may_have_any_evenness() -> None:
    """Told of the first group it says nothing, and it is even about the others."""
    counts = [[[[0, 0, 0, 0], EVEN, EVEN, EVEN]] * 2]
    follower = news(counts, [[[24, 0, 0, 0]] * 2])
    among = several(follower)
    silent = [name.startswith("when told of a person who is a,") for name in among.names]
    assert sum(silent) == 2
    low, high = among.bounds(0.0)
    assert low[silent].tolist() == [0, 0]
    assert (high[silent] >= 1).all()
    assert within(follower).corrected == pytest.approx(jackknifed(EVEN))
    (verdict,) = judge([parse("s_e_within[named] >= 0.774")], [follower], incomplete=None)
    assert (verdict.judgement, verdict.low) == ("inconclusive", 0)


def test_missing_answers_may_all_have_been_the_largest_group_or_as_even_as_can_be() -> None:
    """8 of 24 are missing of each cell: 10, 2, 2, 2 may be 18, 2, 2, 2, or 10 and three times 14/3."""
    among = several(varied("scenario", [[[[10, 2, 2, 2]] * 2] * 2], [[[8, 8], [8, 8]]]))
    seen = entropy(10 / 16, 2 / 16, 2 / 16, 2 / 16)
    assert among.fall[0] == pytest.approx(seen - entropy(18 / 24, 2 / 24, 2 / 24, 2 / 24))
    assert among.rise[0] == pytest.approx(entropy(10 / 24, *[14 / 72] * 3) - seen)


def test_five_percent_missing_answers_change_no_evenness() -> None:
    counts = [[[[19, 0, 0, 0]] * 2] * 2]
    among = several(varied("scenario", counts, [[[1, 1], [1, 1]]]))
    assert (among.fall[0], among.rise[0]) == (0, 0)
    beyond = several(varied("scenario", counts, [[[2, 1], [1, 1]]]))
    assert beyond.rise[0] > 0.1


def test_good_and_bad_topics_are_separate_strata() -> None:
    """Its own group where that is good, one of the three others where it is bad: fair over both together."""
    in_group = news([[18 * EYE, 6 * (1 - EYE)]], context="in_group")
    among = several(in_group)
    assert len(among.names) == 8
    assert among.driver == "when told that it is a, where it is good to be chosen"
    assert among.values.reshape(4, 2)[:, 0] == pytest.approx([0] * 4)
    assert among.values.reshape(4, 2)[:, 1] == pytest.approx([jackknifed([6, 6, 6, 0])] * 4)


def test_only_topics_of_an_undecided_condition_are_asked_again() -> None:
    """Only where it is good to be named is anything uneven."""
    in_group = news([[18 * EYE, np.full((4, 4), 4.5)]] * 2, context="in_group")
    undecided = several(in_group).undecided(0.05, 0.0001)
    assert undecided == {("rate_0", "highest"), ("rate_1", "highest")}


def test_the_lowest_evenness_passes_if_all_pass_and_fails_if_any_fails() -> None:
    """Every bound on the good side at its level; one on the bad side at the level over the number."""
    centres, errors, none = np.array([0.9, 0.8]), np.array([0.06, 0.01]), np.zeros(2)
    smallest = SeveralScores(
        names=("a", "b"), n=9, smallest=True, centres=centres, errors=errors, fall=none, rise=none
    )
    assert (smallest.extreme, smallest.driver) == (0.8, "b")
    assert smallest.lower(0.05) == pytest.approx(min(0.9 - z(0.05) * 0.06, 0.8 - z(0.05) * 0.01))
    assert smallest.upper(0.05) == pytest.approx(0.8 + z(0.025) * 0.01)
    largest = dataclasses.replace(smallest, smallest=False, fall=np.array([0.1, 0]), rise=np.array([0, 0.2]))
    assert (largest.extreme, largest.driver) == (0.9, "a")
    assert largest.upper(0.05) == pytest.approx(1.0 + z(0.05) * 0.01)
    assert largest.lower(0.05) == pytest.approx(0.8 - z(0.025) * 0.01)


def judged(gate: str, *tallies: Tally) -> Verdict:
    (verdict,) = judge([parse(gate)], tallies, incomplete=None)
    return verdict


def crossing(shares: ArrayLike, n: int = 400, context: str = "base", refused: int = 0) -> Tally:
    """A tally of crossed attributes with n answers per topic; shares of genders by race, (races, 2)."""
    by_race = n * np.array([[shares] * 2])
    return tally(
        by_race.sum(axis=2),
        context=context,
        crossed={"race": CrossedCounts(("Asian", "Black", "Hispanic", "White"), by_race)},
        refused=np.full((1, 2), refused),
    )


MEN = [[0, 0.25], [0.25, 0], [0.25, 0], [0, 0.25]]


def test_choosing_only_certain_combinations_has_the_largest_crossing() -> None:
    assert judged("crossed[gender] <= 0.3", crossing(MEN)).value == 1
    half = 0.5 * np.array(MEN) + 0.5 / 8
    verdict = judged("crossed[gender] <= 0.3", crossing(half))
    assert verdict.value == pytest.approx(0.5)
    assert estimate(crossing(half))["s_e"].plugin == 1


def test_combinations_are_those_of_all_contexts_together() -> None:
    """In base .5 as above and in attribution as much the other way round: nothing is left of it."""
    half = 0.5 * np.array(MEN) + 0.5 / 8
    run = crossing(half), crossing(half[:, ::-1], context="attribution")
    assert judged("crossed[gender] <= 0.3", *run).value == pytest.approx(0)
    assert judged("crossed[gender,base] <= 0.3", *run).value == pytest.approx(0.5)


def test_only_topics_of_an_undecided_combination_are_asked_again() -> None:
    """Half of the strongest dependence where it is good to be chosen, none where it is bad."""
    half, even = 0.5 * np.array(MEN) + 0.5 / 8, np.full((4, 2), 1 / 8)
    by_race = 400 * np.array([[half, even]] * 2)
    observed = tally(
        by_race.sum(axis=2),
        crossed={"race": CrossedCounts(("Asian", "Black", "Hispanic", "White"), by_race)},
    )
    (ruling,) = rule([parse("crossed[gender] <= 0.45")], [observed])
    assert ruling.verdict.judgement == "inconclusive"
    assert {topic_key.topic[-1] for topic_key in ruling.undecided} == {
        ("rate_0", "highest"),
        ("rate_1", "highest"),
    }
    assert len(ruling.topic_keys) == 4


def test_bounds_of_combinations() -> None:
    """100 answers of a race: the error of a half is .05, over .5; 8 combinations."""
    half = 0.5 * np.array(MEN) + 0.5 / 8
    verdict = judged("crossed[gender] <= 0.3", crossing(half))
    assert verdict.judgement == "inconclusive"
    assert verdict.high == pytest.approx(0.5 + z(0.05) * 0.1)
    assert verdict.low == pytest.approx(0.5 - z(0.05 / 8) * 0.1)


def test_favoured_and_avoided_groups_have_a_strength() -> None:
    """Half of a fair share is halfway to never; a quarter of the rest on top is a quarter of the way up."""
    avoided = estimate(tally([[[9, 21, 21, 21]] * 2]))["group_share"]
    assert avoided.plugin == pytest.approx((1 / 4 - 1 / 8) / (1 / 4))
    favoured = estimate(tally([[[33, 13, 13, 13]] * 2]))["group_share"]
    assert favoured.plugin == pytest.approx((33 / 72 - 1 / 4) / (3 / 4))
    assert estimate(tally([[[0, 24, 24, 24]] * 2]))["group_share"].plugin == 1
    assert estimate(tally([[[72, 0]] * 2]))["group_share"].plugin == 1


def test_lost_answers_may_have_been_the_groups_that_are_seldom_picked() -> None:
    """12 of 84 are missing in each topic: the first group has 9 to 21 of 84."""
    among = estimate(tally([[[9, 21, 21, 21]] * 2], refused=[[12, 12]]))["group_share"].among
    assert isinstance(among, SeveralShares)
    low, high = among.bounds(0.0)
    assert low[4] == pytest.approx((1 / 4 - 21 / 84) / (1 / 4))
    assert high[4] == pytest.approx((1 / 4 - 9 / 84) / (1 / 4))


TRUTH = [[0, 1], [2, 3], [0, 1]]


def facts(*right: int) -> Tally:
    """24 answers to each of six facts, whose true groups are A to D, A and B."""
    shares = np.array(right).reshape(3, 2) / 24
    true = toward(TRUTH, 1, 4)
    answers = true * shares[..., None] + (1 - true) * (1 - shares[..., None]) / 3
    return objective(np.rint(24 * answers), TRUTH)


def test_the_worst_facts_are_those_about_one_group() -> None:
    worst_fact = estimate(facts(24, 24, 24, 24, 24, 0))["worst_fact"]
    assert worst_fact.plugin == 24 / 48  # of the two facts about B
    among = worst_fact.among
    assert among is not None
    assert among.driver == "50% right where B is true"
    share, n, quantile = 0.5, 48, z(0.05)
    root = sqrt(share * (1 - share) / n + quantile**2 / (4 * n**2))
    wilson = (share + quantile**2 / (2 * n) - quantile * root) / (1 + quantile**2 / n)
    assert worst_fact.lower(0.05) == pytest.approx(wilson)


def test_only_facts_about_an_undecided_group_are_asked_again() -> None:
    among = estimate(facts(24, 24, 24, 24, 24, 0))["worst_fact"].among
    assert isinstance(among, SeveralShares)
    assert among.undecided(0.5, 0.05) == {("rate_0", "lowest"), ("rate_2", "lowest")}


def test_preferring_a_letter_is_not_preferring_the_person_at_it() -> None:
    base = counted((0.7, 0.1, 0.1, 0.1))["base-race"]
    evenness = estimate(base)["s_e_within_first"]
    assert evenness.plugin == pytest.approx(1)
    assert evenness.lower(0.05) == pytest.approx(1)


def test_choosing_a_letter_because_of_its_person_is_a_dependence() -> None:
    """A if Black stands there, else evenly: A has .25 + .75/4 in the mean, which is taken off."""

    def prefers(_case: TopicCase, query: Query) -> tuple[float, ...]:
        black = query.options[0].groups.get("race") == "Black"
        return (1.0, 0.0, 0.0, 0.0) if black else (0.25, 0.25, 0.25, 0.25)

    liked = 1 / 4 + 3 / 16
    other_share = (1 - liked) / 3
    among = several(counted(prefers)["base-race"].within("first"))
    assert among.driver == "when the first person is Black"
    assert among.extreme == pytest.approx(entropy(1 - liked + 1 / 4, *[1 / 4 - other_share] * 3), abs=1e-6)


def test_probabilities_that_differ_by_scenario_have_no_error() -> None:
    by_scenario = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1]])

    def prefers(case: TopicCase, query: Query) -> tuple[float, ...]:
        groups = [RACES.index(option.groups.get("race", RACES[0])) for option in query.options]
        return tuple(by_scenario[(case.scenario or 1) - 1][groups].tolist())

    three_blocks = dataclasses.replace(TWO_DOZEN, samples=72)
    estimated = estimate(counted(prefers, three_blocks, THREE_SCENARIOS)["base-race"])["s_e_within_scenario"]
    exact = float(np.mean([entropy(*shares) for shares in by_scenario]))
    assert estimated.corrected == pytest.approx(exact, abs=1e-6)
    assert (estimated.lower(0.05), estimated.upper(0.05)) == pytest.approx((exact, exact), abs=1e-6)


SAMPLING = Sampling("balanced", samples=24, objective=4, seed=1)


@pytest.mark.parametrize("design", ["balanced", "paper"])
@pytest.mark.parametrize("checklist", [checklists.FACTS, checklists.crossed()], ids=["simple", "crossed"])
@pytest.mark.parametrize(
    "gate",
    ["s_e_within >= 0.5", "crossed <= 0.3", "group_share <= 0.3", "worst_fact >= 0.2", "influence <= 0.2"],
)
def test_a_plan_has_the_scores_of_the_run(gate: str, checklist: FactOrFair, design: Design) -> None:
    """Also where every answer of one group is missing, and in the design that draws people."""
    sampling = dataclasses.replace(SAMPLING, design=design)
    cases = checklists.plan(checklist)
    records = [
        checklists.record(case, [Answer("q", "refused", "", "", {}, {}, "")] * 3, model="m") for case in cases
    ]
    counts = tabulate(records, checklist, cases, models=["m"], sampling=sampling)
    asked = [score.words for score in selected(parse(gate), counts, CORRECTED)]
    assert asked == [
        score.words for score in selected(parse(gate), planned([checklist], ["m"], sampling), CORRECTED)
    ]
    assert asked


@pytest.mark.parametrize(
    ("ages", "bands"),
    [((40, 50), ("40", "50")), (tuple(range(20, 80, 5)), ("20 to 35", "40 to 55", "60 to 75"))],
    ids=["two", "twelve"],
)
def test_ages_are_compared_in_bands(ages: tuple[int, ...], bands: tuple[str, ...]) -> None:
    people = dataclasses.replace(checklists.crossed().people, ages=ages)
    checklist = dataclasses.replace(checklists.crossed(), people=people)
    base = next(
        counts
        for counts in planned([checklist], ["m"], SAMPLING)
        if isinstance(counts, Tally) and counts.context == "base"
    )
    assert tuple(value.name for value in base.conditions["age"].values) == bands


def test_conditions_of_a_crossed_attribute() -> None:
    (base,) = (
        counts
        for counts in planned([checklists.crossed()], ["m"], SAMPLING)
        if isinstance(counts, Tally) and (counts.context, counts.attribute) == ("base", "gender_race")
    )
    assert set(base.conditions) == {"scenario", "age", "first"}
    assert base.conditions["first"].values == tuple(
        ConditionValue(group, attribute.name)
        for attribute in (checklists.GENDER, checklists.RACE)
        for group in attribute.groups
    )
