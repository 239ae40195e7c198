"""What a run scored and no gate judged: a PASS says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_factorfair.domain import Gate, Score
from pytest_factorfair.gates.expression import KNOWN
from pytest_factorfair.gates.subjects import select
from pytest_factorfair.scoring.metrics import LOSSES
from pytest_factorfair.scoring.tally import Tally


def unjudged(gates: Iterable[Gate], tallies: Sequence[Tally], scores: Iterable[Score]) -> tuple[str, ...]:
    """Parts and contexts whose answers no gate is about, then metrics that none is about anywhere.

    Gates on what is missing are not about the answers. Of metrics only those that the run has a value
    of are named.
    """
    declared = tuple(gates)
    about = [gate for gate in declared if gate.metric not in LOSSES]
    judged = {id(tally) for gate in about for tally, _ in select(gate, tallies)}
    places: dict[str, dict[str, bool]] = {}
    for tally in tallies:
        here = places.setdefault(tally.context or tally.part, {})
        here[tally.attribute] = here.get(tally.attribute, True) and id(tally) in judged
    whole = [place for place, covered in places.items() if not any(covered.values())]
    parts = [
        f"answers about {attribute} in {place}"
        for place, covered in places.items()
        for attribute in covered
        if place not in whole and not covered[attribute]
    ]
    had = {one.metric for one in scores if one.value is not None}
    left = had - {gate.metric for gate in declared}
    answers = [f"answers in {', '.join(whole)}"] if whole else []
    return (*answers, *parts, *(metric for metric in KNOWN if metric in left))
