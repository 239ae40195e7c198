"""Which models say the same to the same prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def deterministic(identity: Mapping[str, object], notes: Iterable[str] = ()) -> bool:
    """Whether a model of this identity draws nothing: its temperature is 0, and was accepted.

    ``notes`` are what its responses say of departures from what was asked. That a model leaves room
    for chance at temperature 0 (batches, hardware) makes no new sample of it.
    """
    parameters = identity.get("parameters", identity)
    at_zero = isinstance(parameters, Mapping) and parameters.get("temperature") == 0
    return at_zero and not any(note.startswith("temperature ") for note in notes)
