"""What no gate judges: parts and contexts without a gate, and metrics that no gate names."""

from __future__ import annotations

from itertools import chain

from pytest_factorfair.gates import parse, unjudged
from pytest_factorfair.protocols.fact_or_fair.metrics import score
from tests.unit.scoring.builders import objective, tally

COUNTS = [[[40, 40], [40, 40]]]
TALLIES = [
    objective(COUNTS),
    objective([[[20] * 4] * 2]),
    tally(COUNTS),
    tally([[[20] * 4] * 2]),
    tally(COUNTS, context="in_group", background="random"),
]
SCORES = [*chain.from_iterable(map(score, TALLIES))]


def left(*gates: str) -> tuple[str, ...]:
    return unjudged([parse(gate) for gate in gates], TALLIES, SCORES)


def test_places_whose_answers_no_gate_is_about() -> None:
    places = [
        description
        for description in left("s_fact[objective] >= 0.5", "s_e[base,race] >= 0.5")
        if " " in description
    ]
    assert places == ["answers in in_group", "answers about gender in base"]


def test_a_gate_on_refusals_judges_no_answers() -> None:
    uncovered = left("refusal_rate <= 0.05", "worst_refusal <= 0.5")
    assert uncovered[0] == "answers in objective, base, in_group"
    assert "refusal_rate" not in uncovered
    assert "unparsed_rate" in uncovered


def test_metrics_that_no_gate_names_and_the_run_has() -> None:
    """Names were not counted in these tallies, so that there is no preference for one to judge."""
    everywhere = ("s_e >= 0.5", "s_fact >= 0.5", "s_kld >= 0.5", "worst_topic <= 0.5", "refusal_rate <= 0.5")
    assert set(left(*everywhere)) == {
        "s_fact_firm", "s_fair", "distance", "group_share", "worst_fact", "position", "worst_refusal",
        "unparsed_rate", "error_rate",
    }  # fmt: skip
    assert "name_preference" not in left("s_e >= 0.5")
