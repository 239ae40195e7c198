"""What a run scored and no gate judged: a PASS says so."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from pytest_factorfair.domain import Gate, Score
from pytest_factorfair.protocols.measurement import Counts, Estimation
from pytest_factorfair.protocols.registry import by_protocol, metrics, selected


def unjudged(gates: Iterable[Gate], counts: Sequence[Counts], scores: Iterable[Score]) -> tuple[str, ...]:
    """Parts and contexts whose answers no gate is about, then metrics that none is about anywhere.

    Gates on what is missing are not about the answers. Of metrics only those that the run has a value
    of are named.
    """
    declared, known = tuple(gates), metrics()
    judged: frozenset[Hashable] = frozenset().union(
        *(
            one.about
            for gate in declared
            if not known[gate.metric].counts_losses
            for one in selected(gate, counts, Estimation())
        )
    )
    places: dict[str, dict[str, bool]] = {}
    for protocol, mine in by_protocol(counts):
        for each in mine:
            for subject, place, attribute in protocol.subjects(each):
                here = places.setdefault(place, {})
                here[attribute] = here.get(attribute, True) and subject in judged
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
    return (*answers, *parts, *(metric for metric in known if metric in left))
