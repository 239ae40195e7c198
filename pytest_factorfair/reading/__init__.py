"""Responses to answers: which option a reply chose, or whom a picture shows, or why neither can be told."""

from pytest_factorfair.reading.exchange import answer
from pytest_factorfair.reading.outcomes import REASONS
from pytest_factorfair.reading.picture import pictured
from pytest_factorfair.reading.text import read

__all__ = ["REASONS", "answer", "pictured", "read"]
