"""What one case yields: the unit that travels from a worker to the controller."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_factorfair.domain.answer import Answer
from pytest_factorfair.domain.case import CaseKey


@dataclass(frozen=True, slots=True)
class Record:
    """A case's answers; ``notes`` are departures from what was asked that a report must mention."""

    case: CaseKey
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
