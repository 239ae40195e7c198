"""Tallies of records: every answer is counted in its cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import CELL_FIELDS, Tally
from pytest_factorfair.domain import Answer, Outcome, Record
from pytest_factorfair.errors import InputError
from tests.unit.scoring.checklists import FACTS, SAMPLING, answer, crossed, plan, record

MODEL = "sim:uniform"
CASES = plan()
LOST: tuple[Outcome, ...] = ("refused", "unparsed", "error")


def _tabulate(records: Sequence[Record], models: Sequence[str] = (MODEL,)) -> tuple[Tally, ...]:
    return tabulate(records, FACTS, CASES, models=models, sampling=SAMPLING)


def _case(
    part: str, statistic: str, direction: str, context: str | None = None, about: str = "race"
) -> TopicCase:
    return next(
        case
        for case in CASES
        if (case.part, case.statistic, case.direction, case.context) == (part, statistic, direction, context)
        and about in case.attributes
    )


def _find(tallies: Sequence[Tally], attribute: str, context: str | None = None, model: str = MODEL) -> Tally:
    return next(
        tally
        for tally in tallies
        if (tally.attribute, tally.context, tally.model) == (attribute, context, model)
    )


def _random_records(seed: int, model: str = MODEL) -> list[Record]:
    draw = Random(seed)  # noqa: S311 - test data, not secrets
    both = {attribute.name: attribute.groups for attribute in FACTS.attributes}
    records = []
    for case in CASES:
        answers = []
        for _ in range(draw.randint(0, 6)):
            groups = {
                name: draw.choice(both[name])
                for name in (case.attributes if case.part == "objective" else both)
            }
            outcome = draw.choice(("answered", "answered", *LOST))
            background = {"race": draw.choice(both["race"])} if case.context == "in_group" else {}
            answers.append(answer(groups if outcome == "answered" else {}, background, outcome))
        records.append(record(case, answers, model))
    return records


def test_tallies_come_in_the_checklists_order_and_have_its_labels() -> None:
    tallies = _tabulate([])
    places = [(None, attribute) for attribute in ("gender", "race")] + [
        (context.id, attribute) for context in FACTS.contexts for attribute in ("gender", "race")
    ]
    assert [(tally.context, tally.attribute) for tally in tallies] == places
    assert {tally.part for tally in tallies[:2]} == {"objective"}
    race = tallies[1]
    assert race.statistics == ("tea_rate", "queue_rate", "nap_rate")
    assert race.groups == ("Asian", "Black", "Hispanic", "White")
    assert race.truth.tolist() == [[0, 3], [1, 0], [3, 2]]
    assert race.fragile.tolist() == [[False, False], [True, True], [False, False]]
    assert race.positive.tolist() == [[True, False], [False, True], [False, True]]
    assert tallies[0].statistics == ("tea_rate", "nap_rate")
    assert (race.design, race.people, race.k) == ("balanced", 4, 4)


def test_every_planned_tally_exists_without_records() -> None:
    """Without records, all planned tallies exist: a model without answers must still be judged."""
    tallies = _tabulate([], models=("one", "two"))
    assert [tally.model for tally in tallies] == ["one"] * 10 + ["two"] * 10
    assert all(tally.asked.sum() == tally.answered.sum() == 0 and tally.statistics for tally in tallies)


def test_an_objective_case_counts_for_its_attribute() -> None:
    case = _case("objective", "tea_rate", "lowest")
    tallies = _tabulate(
        [record(case, [answer({"race": "White"}), answer({"race": "White"}), answer({"race": "Asian"})])]
    )
    assert _find(tallies, "race").counts[0].tolist() == [[0, 0, 0, 0], [1, 0, 0, 2]]
    assert _find(tallies, "race").asked[0].tolist() == [0, 3]
    assert sum(tally.asked.sum() for tally in tallies) == 3


def test_a_subjective_answer_counts_for_every_attribute_the_statistic_has() -> None:
    tea, queue = (
        _case("subjective", statistic, "highest", "base") for statistic in ("tea_rate", "queue_rate")
    )
    black_man = answer({"gender": "Male", "race": "Black"})
    tallies = _tabulate([record(tea, [black_man]), record(queue, [black_man])])
    assert _find(tallies, "gender", "base").counts.sum(axis=(0, 1)).tolist() == [0, 1]
    assert _find(tallies, "race", "base").counts.sum(axis=(0, 1)).tolist() == [0, 2, 0, 0]


def test_answers_without_a_true_group_are_counted_apart() -> None:
    """Of queues no gender is true, but the people shown have one; facts about them name none."""
    high, low = (_case("subjective", "queue_rate", direction, "base") for direction in ("highest", "lowest"))
    fact = _case("objective", "queue_rate", "highest")
    tallies = _tabulate(
        [
            record(high, [answer({"gender": "Male", "race": "Black"})] * 3 + [answer({}, outcome="refused")]),
            record(low, [answer({"gender": "Female", "race": "White"})]),
            record(fact, [answer({"race": "White"})]),
        ]
    )
    gender = _find(tallies, "gender", "base")
    assert gender.unlabelled is not None
    assert gender.unlabelled.tolist() == [[[0, 3], [1, 0]]]
    assert gender.counts.sum() == gender.asked.sum() == 0
    assert "queue_rate" not in gender.statistics
    assert gender.restrict(["tea_rate"]).unlabelled is None
    assert [tally.unlabelled for tally in tallies if tally is not gender] == [None] * 9


def test_the_scenarios_of_a_topic_are_pooled_within_a_context() -> None:
    topic_cases = [
        case
        for case in CASES
        if (case.statistic, case.direction) == ("tea_rate", "highest") and case.scenario
    ]
    tallies = _tabulate([record(case, [answer({"gender": "Male", "race": "White"})]) for case in topic_cases])
    for context in FACTS.contexts:
        race = _find(tallies, "race", context.id)
        assert race.counts[0, 0].tolist() == [0, 0, 0, 2]
        assert race.scenarios[0, 0].tolist() == [[0, 0, 0, 1], [0, 0, 0, 1]]
    assert _find(tallies, "race", None).scenarios.shape[2] == 0


def test_lost_answers_are_counted_by_kind_and_nothing_is_dropped() -> None:
    case = _case("objective", "nap_rate", "highest")
    lost = [
        answer(outcome=outcome) for outcome in ("refused", "refused", "unparsed", "error", "error", "error")
    ]
    tally = _find(_tabulate([record(case, [*lost, answer({"race": "Black"})])]), "race")
    cell = (2, 0)
    assert (tally.refused[cell], tally.unparsed[cell], tally.errors[cell]) == (2, 1, 3)
    assert (tally.asked[cell], tally.answered[cell]) == (7, 1)


def test_matches_with_a_random_named_group_are_counted() -> None:
    case = _case("subjective", "tea_rate", "highest", "in_group")
    answers = [
        answer({"gender": "Male", "race": "Black"}, {"race": "Black"}),
        answer({"gender": "Male", "race": "Black"}, {"race": "Asian"}),
        answer({}, {"race": "Asian"}, "refused"),
    ]
    tallies = _tabulate([record(case, answers)])
    race, gender = _find(tallies, "race", "in_group"), _find(tallies, "gender", "in_group")
    assert (race.named[0, 0], race.matched[0, 0], race.asked[0, 0]) == (2, 1, 3)
    assert gender.named.sum() == gender.matched.sum() == 0


def test_each_attribute_has_the_background_of_its_context() -> None:
    kinds = {(tally.context, tally.attribute): tally.background for tally in _tabulate([])}
    assert kinds["representativeness", "gender"] == "truth"
    assert kinds["attribution", "gender"] == "random"
    assert kinds["in_group", "race"] == "random"
    assert kinds["in_group", "gender"] == "none"
    assert kinds["base", "race"] == kinds[None, "race"] == "none"


def test_the_order_of_records_does_not_matter() -> None:
    records = _random_records(1) + _random_records(2, "other")
    shuffled = Random(3).sample(records, len(records))  # noqa: S311 - a shuffle
    for ordered, reordered in zip(
        *(_tabulate(sequence, (MODEL, "other")) for sequence in (records, shuffled)), strict=True
    ):
        _assert_same(ordered, reordered)


def test_two_halves_add_up_to_the_whole() -> None:
    records = _random_records(4)
    whole, evens, odds = (_tabulate(subset) for subset in (records, records[::2], records[1::2]))
    for total, even, odd in zip(whole, evens, odds, strict=True):
        for name in ("counts", "asked", "refused", "unparsed", "errors", "named", "matched"):
            assert (getattr(total, name) == getattr(even, name) + getattr(odd, name)).all()


def test_outcomes_add_up_to_the_answers_asked() -> None:
    for tally in _tabulate(_random_records(5)):
        assert (tally.asked == tally.answered + tally.refused + tally.unparsed + tally.errors).all()
        assert (tally.matched <= tally.named).all()
        assert (tally.named <= tally.answered).all()


def test_records_of_other_checklists_and_models_are_left_out() -> None:
    case = _case("objective", "tea_rate", "lowest")
    stranger = record(case, [answer({"race": "White"})], "other")
    elsewhere = replace(stranger, case=stranger.case._replace(checklist="else", model=MODEL))
    assert sum(tally.asked.sum() for tally in _tabulate([stranger, elsewhere])) == 0


def test_a_tally_has_only_the_statistics_that_cases_ask_about() -> None:
    asked = [case for case in CASES if case.statistic == "queue_rate" and case.part == "objective"]
    (tally,) = tabulate([], FACTS, asked, models=[MODEL], sampling=SAMPLING)
    assert (tally.part, tally.attribute, tally.statistics) == ("objective", "race", ("queue_rate",))


def test_a_record_that_belongs_to_no_case_is_refused() -> None:
    planned = record(CASES[0], [])
    unknown = replace(planned, case=planned.case._replace(case="objective-99"))
    with pytest.raises(InputError) as caught:
        _tabulate([unknown])
    assert str(caught.value) == "objective-99: checklist 'facts' has no such case in this run"


@pytest.mark.parametrize("groups", [{"race": "Martian"}, {}])
def test_an_answer_with_a_group_that_the_checklist_lacks_is_refused(groups: dict[str, str]) -> None:
    case = _case("objective", "tea_rate", "lowest")
    with pytest.raises(InputError) as caught:
        _tabulate([record(case, [answer(groups)])])
    group = groups.get("race")
    assert str(caught.value) == f"{case.id}: '{group}' is not a group of race in 'facts'"


def test_a_crossed_attribute_is_tallied_with_what_its_queries_show() -> None:
    checklist: FactOrFair = crossed()
    tallies = tabulate([], checklist, plan(checklist), models=[MODEL], sampling=SAMPLING)
    crossed_tally = _find(tallies, "gender_race", "base")
    assert (crossed_tally.statistics, crossed_tally.k, crossed_tally.people) == (("tea_rate",), 8, 8)
    assert crossed_tally.shown
    assert all(shown == frozenset(range(8)) for shown in crossed_tally.shown)
    assert _find(tallies, "gender_race").shown == ()
    assert _find(tallies, "race", "base").shown == ()


def _assert_same(actual: Tally, expected: Tally) -> None:
    assert (actual.model, actual.part, actual.context, actual.attribute) == (
        expected.model,
        expected.part,
        expected.context,
        expected.attribute,
    )
    for name in CELL_FIELDS:
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


def test_queries_are_counted_by_the_group_their_context_named_answered_or_not() -> None:
    race = _find(_tabulate(_random_records(3)), "race", "in_group")
    assert race.addressed.sum(axis=-1).tolist() == race.asked.tolist()
    assert race.declined.sum(axis=-1).tolist() == race.refused.tolist()
    assert (race.addressed - race.declined).sum() > race.named.sum() > 0
    assert _find(_tabulate(_random_records(3)), "gender", "in_group").addressed.sum() == 0


def test_pictures_are_asked_for_and_lost_one_by_one_and_their_faces_counted() -> None:
    """Five pictures: of three people, of one without a known race, of one without any group, refused, empty."""
    case = _case("objective", "tea_rate", "lowest")

    def seen(picture: str, groups: dict[str, str], outcome: Outcome = "answered", reason: str = "") -> Answer:
        return Answer(picture, outcome, reason, None, groups, {}, picture)

    crowd = [seen("crowd", {"race": group}) for group in ("White", "White", "Black")]
    uncounted = [
        seen("other", {"gender": "Male"}), seen("nobody", {}, "unparsed", "no face"),
        seen("strange", {}, "unparsed", "no known group"), seen("refused", {}, "refused", "refused"),
    ]  # fmt: skip
    tally = _find(_tabulate([record(case, [*crowd, *uncounted])]), "race")
    row = tally.statistics.index("tea_rate")
    assert tally.asked[row, 1] == 5
    assert (tally.answered[row, 1], tally.refused[row, 1], tally.unparsed[row, 1]) == (3, 1, 3)
