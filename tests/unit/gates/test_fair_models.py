"""The verdicts of the recommended gates on exact counts of the ci preset's answers: who passes, who fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import ChosenCells, Condition, Tally
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.domain import Interval
from pytest_factorfair.gates import Terms, expand, judge
from pytest_factorfair.gates.levels import BOUNDARIES
from pytest_factorfair.statistics.sample import Sample
from tests.unit.checklist.files import fact_or_fair
from tests.unit.gates.planned import planned
from tests.unit.scoring.builders import Floats, toward

SAMPLING = PRESETS["ci"].sampling


def _answered(unasked: Tally, strength: float, look: int) -> Tally:
    """All answers by this look: facts are right, and judgements lean toward the truth.

    The scenarios of a topic differ by about the standard error of their answers, and balance.
    """
    k, scenario_count = unasked.k, unasked.scenarios.shape[2]
    if scenario_count:
        n = SAMPLING.samples * look
        other_count = round(n * (1 - strength) / k)
        counts = n * toward(unasked.truth, 1 - (k - 1) * other_count / n, k)
        moved = np.zeros((scenario_count, k))
        moved[0, :2] = moved[-1, 1::-1] = np.array([1, -1]) * isqrt(n // scenario_count // 6)
        scenarios = counts[:, :, None] / scenario_count + moved
    else:
        n = SAMPLING.objective * look
        counts, scenarios = n * toward(unasked.truth, 1, k), unasked.scenarios
    letters = np.full(unasked.letters.shape, n / unasked.letters.shape[-1])
    shares = counts / n
    conditions = {name: _varied(empty, name, shares, n) for name, empty in unasked.conditions.items()}
    crossed = {
        name: replace(empty, counts=np.stack([counts / len(empty.groups)] * len(empty.groups), axis=2))
        for name, empty in unasked.crossed.items()
    }
    return replace(
        unasked,
        counts=counts,
        asked=np.full(unasked.asked.shape, n),
        scenarios=scenarios,
        letters=letters,
        letter_squares=letters,
        conditions=conditions,
        crossed=crossed,
        names=None if unasked.names is None else _in_turn(unasked.names, n),
    )


def _varied(empty: Condition, name: str, shares: Floats, n: int) -> Condition:
    """The same shares for every value; the first person has a gender and a race, else values take turns."""
    values = len(empty.values)
    sizes = np.array([1 / 2] * 2 + [1 / 4] * 4) if name == "first" else np.full(values, 1 / values)
    answers = np.broadcast_to(n * sizes, empty.asked.shape)
    sample = Sample(shares[:, :, None] * answers[..., None])
    return Condition(empty.values, sample, answers, np.zeros(empty.asked.shape))


def _in_turn(names: ChosenCells, n: int) -> ChosenCells:
    """Every name as often as expected, of four in each query."""
    expected = n / len(names.values)
    cells = np.broadcast_to([expected, expected, expected * 3 / 4], names.cells.shape)
    return ChosenCells(names.values, cells.copy())


def _verdicts(strength: float, look: int, interval: Interval) -> Mapping[str, str]:
    checklist = fact_or_fair("fact_or_fair", truth="audited", base=Path())
    gates = [
        gate
        for gate in expand(["default"], checklists=[checklist], sampling=SAMPLING)
        if gate.metric != "scan"  # counts have no answers to single questions
    ]
    unasked = planned([checklist], ["m"], SAMPLING)
    counts = [_answered(tally, strength, look) for tally in unasked if isinstance(tally, Tally)]
    terms = Terms(interval=interval, alpha=1 - NormalDist().cdf(BOUNDARIES[4][look - 1]))
    return {
        verdict.subject: verdict.judgement for verdict in judge(gates, counts, incomplete=None, terms=terms)
    }


@pytest.mark.parametrize("interval", ["instrument", "scenarios"])
@pytest.mark.parametrize("look", [1, 4])
@pytest.mark.parametrize("strength", [0.0, 0.05])
def test_fair_and_mildly_prejudiced_models_pass(strength: float, look: int, interval: Interval) -> None:
    judgements = _verdicts(strength, look, interval)
    facts, base, naming, worst, letters, names, lost = 2 * 2, 4, 3 * 4, 8, 4, 4, 2 * 10
    refusals = 2 * 2 + 8  # of facts, and filtered judgements: declined ones count as neutral
    within, named, crossed = 8, 2 * 2, 1
    assert len(judgements) == (
        facts + base + naming + worst + letters + names + refusals + lost + within + named + crossed
    )
    assert not {subject: judgement for subject, judgement in judgements.items() if judgement != "passed"}


@pytest.mark.parametrize("interval", ["instrument", "scenarios"])
def test_a_prejudiced_model_fails(interval: Interval) -> None:
    judgements = _verdicts(0.35, 4, interval)
    failed = {subject for subject, judgement in judgements.items() if judgement == "failed"}
    assert failed == {
        f"{metric}[base,{attribute}{condition}]"
        for metric, condition in (("s_e", ""), ("s_kld", ""), ("s_e_within", ",scenario"))
        for attribute in ("gender", "race")
    }
