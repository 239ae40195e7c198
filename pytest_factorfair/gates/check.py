"""Whether a run will have the scores its gates are about, before it asks anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_factorfair.domain import Gate
from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.measurement import Counts, unmeasured
from pytest_factorfair.protocols.registry import by_protocol


def check(gates: Iterable[Gate], counts: Sequence[Counts], *, baseline: bool = False) -> None:
    """Refuse a gate that no score of this run can decide.

    ``counts`` are those of the run before it asks anything; ``baseline`` is whether there is a former run.

    Raises:
        InputError: an unknown filter word, or a gate, or one word of it, that selects no score.
    """
    for gate in gates:
        if gate.regression and not baseline:
            raise InputError(
                f"gate '{gate.text}': a regression needs a former report: give --factorfair-baseline FILE"
            )
        problems = [
            protocol.problem(gate.metric, gate.filters, mine)
            for protocol, mine in by_protocol(counts)
            if gate.metric in protocol.metrics and (not gate.regression or protocol.changeable(gate.metric))
        ]
        if not problems:
            raise InputError(f"gate '{gate.text}': {unmeasured(gate.metric)}")
        if None not in problems:
            raise InputError(f"gate '{gate.text}': {problems[0]}")
