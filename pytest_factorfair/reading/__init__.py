"""Responses to answers: which option a reply chose, or why it chose none."""

from pytest_factorfair.reading.choices import choices
from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import REASONS
from pytest_factorfair.reading.text import read

__all__ = ["REASONS", "answer", "choices", "read"]
