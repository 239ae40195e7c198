"""A finished summary, as people and machines read it."""

from pytest_factorfair.reports.files import folder, write
from pytest_factorfair.reports.responses import Transcript

__all__ = [
    "Transcript",
    "folder",
    "write",
]
