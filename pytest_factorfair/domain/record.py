"""What one case yields: the unit that travels from a worker to the controller."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_factorfair.domain.answer import Answer
from pytest_factorfair.domain.case import CaseKey
from pytest_factorfair.domain.choices import Choices


@dataclass(frozen=True, slots=True)
class Record:
    """A case's answers; ``notes`` are departures from what was asked that a report must mention.

    ``choices`` is what its queries showed of people and what was chosen. ``dropped`` are parameters that the
    model did not accept; ``own_detector`` is whether another detector than the run's read its pictures.
    """

    case: CaseKey
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    choices: Choices = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    own_detector: bool = False
