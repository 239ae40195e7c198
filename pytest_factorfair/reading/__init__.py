"""Responses to answers: which option a reply chose, or why it chose none; and what its reasons cite."""

from pytest_factorfair.reading.citations import Citations
from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import REASONS
from pytest_factorfair.reading.reasons import reason
from pytest_factorfair.reading.text import read

__all__ = ["REASONS", "Citations", "answer", "read", "reason"]
