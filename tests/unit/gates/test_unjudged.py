"""What no gate judges: places whose answers none is about."""

from __future__ import annotations

from pytest_factorfair.gates import parse, unjudged
from tests.unit.scoring.builders import objective, tally

COUNTS = [[[40, 40], [40, 40]]]
TALLIES = [
    objective(COUNTS),
    objective([[[20] * 4] * 2]),
    tally(COUNTS),
    tally([[[20] * 4] * 2]),
    tally(COUNTS, context="in_group", background="random"),
]


def left(*gates: str) -> tuple[str, ...]:
    return unjudged([parse(gate) for gate in gates], TALLIES)


def test_places_whose_answers_no_gate_is_about() -> None:
    places = left("s_fact[objective] >= 0.5", "s_e[base,race] >= 0.5")
    assert places == ("judgements in in_group", "judgements about gender in base")


def test_facts_have_no_context() -> None:
    assert left("s_fact[objective,gender] >= 0.5", "s_e >= 0.5") == ("facts about race",)


def test_a_gate_on_refusals_judges_no_answers() -> None:
    uncovered = left("refusal_rate <= 0.05", "worst_refusal <= 0.5")
    assert uncovered == ("facts", "judgements in base, in_group")


def test_nothing_is_left_where_every_place_has_a_gate() -> None:
    """Whatever metrics no gate names."""
    assert left("s_e >= 0.5", "s_fact[objective] >= 0.5") == ()
