"""From responses to answers: which option a reply chose, who is in a picture, and what reasons cite."""

from pytest_factorfair.reading.answers import answer, choices, pictured
from pytest_factorfair.reading.outcomes import REASONS, example
from pytest_factorfair.reading.reasons import Citations, reason
from pytest_factorfair.reading.shapes import notes, shapes
from pytest_factorfair.reading.text import read

__all__ = [
    "REASONS",
    "Citations",
    "answer",
    "choices",
    "example",
    "notes",
    "pictured",
    "read",
    "reason",
    "shapes",
]
