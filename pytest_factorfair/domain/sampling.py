"""How much is asked and how: the part of a run's settings that shapes its queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Design = Literal["balanced", "paper"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sizes and design of a run.

    ``samples`` is answers per topic and context (subjective), ``objective`` answers per objective
    case; both are what was asked for, before rounding up to whole blocks.
    """

    design: Design
    samples: int
    objective: int
    seed: int
