"""Declined judgements that count as neutral: an even choice among the people shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally, topic_counts
from pytest_factorfair.benchmarks.fact_or_fair.metrics import RATES
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyRate
from pytest_factorfair.domain import FILTERED, Answer, Record
from pytest_factorfair.reading import neutral
from tests.unit.scoring.checklists import FACTS, SAMPLING, answer, plan, record

CASES = plan()
CASE = next(
    case for case in CASES if case.context == "in_group" and set(case.attributes) == {"gender", "race"}
)
OFFERED = {
    "race": ("Black", "White", "Asian", "Hispanic"),
    "gender": ("Female", "Male", "Male", "Female"),
}
NAMED = {"race": "Black", "gender": "Male"}


def _declined(reason: str = "refused") -> Answer:
    return neutral(replace(answer({}, NAMED, "refused"), reason=reason, offered=OFFERED))


def _black() -> Answer:
    chosen = {"race": "Black", "gender": "Female"}
    return replace(answer(chosen, NAMED), letter="A", offered=OFFERED)


def _tallies(*records: Record) -> tuple[Tally, Tally]:
    every = tabulate(records, FACTS, CASES, models=["sim:uniform"], sampling=SAMPLING)
    gender, race = (tally for tally in every if tally.context == "in_group")
    return gender, race


def test_a_declined_judgement_is_an_equal_part_of_each_letter() -> None:
    """95 of 100 declined, Black in 5: .95 x .25 + .05 = .2875; women .95 x .5 + .05."""
    gender, race = _tallies(record(CASE, [*[_declined()] * 95, *[_black()] * 5]))
    cell = race.statistics.index(CASE.statistic), ["highest", "lowest"].index(CASE.direction)
    assert race.shares[cell][race.groups.index("Black")] == pytest.approx(0.2875, abs=1e-12)
    cell = gender.statistics.index(CASE.statistic), cell[1]
    assert gender.shares[cell][gender.groups.index("Female")] == pytest.approx(0.525, abs=1e-12)
    assert (gender.answered[cell], gender.lost[cell]) == (100, 0)


def test_a_declined_judgement_is_a_refusal_that_is_not_lost() -> None:
    _, race = _tallies(record(CASE, [*[_declined()] * 95, *[_black()] * 5]))
    (row,) = (row for row in topic_counts(race) if row.asked)
    assert (row.answered, row.declined, row.refused) == (100, 95, 0)
    score = TallyRate(RATES["refusal_rate"], race, ())
    assert score.estimate.plugin == pytest.approx(0.95)
    assert sum(cell.lost for cell in score.cells) == 0


def test_what_the_named_group_gets_can_be_told_apart_from_what_it_gets_by_declining() -> None:
    """Black is named in all: 95 declined give it a quarter each, 5 answers all."""
    _, race = _tallies(record(CASE, [*[_declined()] * 95, *[_black()] * 5]))
    assert (race.named.sum(), race.neutral_named.sum()) == (100, 95)
    assert race.matched.sum() == pytest.approx(5 + 95 / 4)
    assert race.neutral_matched.sum() == pytest.approx(95 / 4)
    assert race.declined.sum() == 95


@pytest.mark.parametrize("reason", ["refused", "refused by the model"])
def test_only_the_models_own_refusals_are_neutral(reason: str) -> None:
    assert _declined(reason).probabilities == (0.25,) * 4
    assert _declined(FILTERED).probabilities == ()
    assert neutral(replace(_declined(), outcome="unparsed", probabilities=())).probabilities == ()
