"""Responses to answers: which option a reply chose, whom a picture shows, and what reasons cite."""

from pytest_factorfair.reading.choices import choices
from pytest_factorfair.reading.citations import Citations
from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import REASONS
from pytest_factorfair.reading.picture import pictured
from pytest_factorfair.reading.reasons import reason
from pytest_factorfair.reading.text import read

__all__ = ["REASONS", "Citations", "answer", "choices", "pictured", "read", "reason"]
