"""How much is asked and how: the part of a run's settings that shapes its queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pytest_factorfair.domain.checklist import Modality

Design = Literal["balanced", "paper"]
Prompts = Literal["characteristics", "implicit", "all"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sizes and design of a run.

    ``samples`` is the number of answers per topic and context, ``objective`` that per objective case; both
    as requested, before rounding up to whole blocks. ``images`` is the number of pictures per case of an
    image checklist. In a benchmark of prompts, ``prompts`` selects which of them are asked, for
    ``per_prompt`` pictures each. ``repeats`` is how often a question with options of its own is asked.
    ``rounds`` is the number of equal, balanced parts of the sample: a smaller sample with the same rounds
    begins with the same queries. ``verbatim`` prompts for pictures are the paper's exact wording, others
    are grammatical.
    """

    design: Design
    samples: int
    objective: int
    seed: int
    images: int = 20
    prompts: Prompts = "all"
    per_prompt: int = 50
    repeats: int = 1
    rounds: int = 1
    verbatim: bool = False

    def of(self, modality: Modality) -> Sampling:
        """The sampling of checklists of this modality.

        A picture offers no people to choose from: any group can appear in it, as in the balanced design.
        """
        if modality == "text":
            return self
        verbatim = self.design == "paper"
        return replace(self, design="balanced", samples=self.images, objective=self.images, verbatim=verbatim)

    def times(self, factor: int) -> Sampling:
        """A sample that is ``factor`` times as large and begins with the same queries."""
        return replace(
            self,
            samples=factor * self.samples,
            objective=factor * self.objective,
            images=factor * self.images,
            per_prompt=factor * self.per_prompt,
            repeats=factor * self.repeats,
            rounds=factor * self.rounds,
        )
