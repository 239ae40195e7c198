"""A finished summary, as people and machines read it."""

from pytest_factorfair.reports.files import as_baseline, folder, write, write_whole
from pytest_factorfair.reports.responses import Transcript

__all__ = [
    "Transcript",
    "as_baseline",
    "folder",
    "write",
    "write_whole",
]
