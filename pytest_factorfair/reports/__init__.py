"""A finished summary, as people and machines read it."""

from pytest_factorfair.reports.files import folder, write
from pytest_factorfair.reports.responses import Transcript
from pytest_factorfair.reports.sheets import ContactSheets

__all__ = [
    "ContactSheets",
    "Transcript",
    "folder",
    "write",
]
