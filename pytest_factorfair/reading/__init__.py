"""Turn responses into answers: the option that a reply chose, or the groups of the people in a picture."""

from pytest_factorfair.reading.answers import answer, as_requested, choices, neutral, pictured, read
from pytest_factorfair.reading.outcomes import REASONS, example, notes, remedy, shapes

__all__ = [
    "REASONS",
    "answer",
    "as_requested",
    "choices",
    "example",
    "neutral",
    "notes",
    "pictured",
    "read",
    "remedy",
    "shapes",
]
