"""The reference respondents by name: each a preset of the same few traits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Belief = Literal["stereotype", "truth", "opposite"]
"""What a respondent takes for true.

Of a fact both stereotype and truth are the true group, the opposite is any other. Of a person with shares
of groups the truth is the likeliest, the opposite the rarest that is not asked for; a stereotype is the
first group of whoever has the advantage in a pair, the last of whoever has not, else the likeliest.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """What ``strength=`` means for a respondent, its traits unless given, its own options, its belief."""

    strength: str = "prejudice"
    preset: Mapping[str, float] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    belief: Belief = "stereotype"


KINDS: Mapping[str, Kind] = {
    "uniform": Kind(preset={"knowledge": 0.0}),
    "oracle": Kind(preset={"prejudice": 1.0}, belief="truth"),
    "contrary": Kind(preset={"prejudice": 1.0}, belief="opposite"),
    "ideal": Kind(),
    "stereotyped": Kind(preset={"prejudice": 0.3}),
    "constant": Kind(strength="favour", preset={"favour": 1.0}, takes=("group",)),
    "position_biased": Kind(strength="position", preset={"position": 0.5}),
    "refusing": Kind(preset={"rate": 0.3}, takes=("group", "rate")),
    "context_following": Kind(strength="follow", preset={"follow": 0.5}),
    "nonsense": Kind(preset={"nonsense": 1.0}),
}


@dataclass(frozen=True, slots=True)
class Traits:
    """How a respondent answers; all numbers are probabilities.

    In the order they act: ``refuse`` whatever is asked, ``nonsense`` in place of an answer,
    ``position`` says the first letter, ``favour`` takes ``group`` if offered, ``knowledge`` gives
    the true answer to an objective query, ``follow`` takes the group the context names,
    ``prejudice`` takes the topic's true group; in all other cases the choice is uniform.
    ``withhold`` refuses after having chosen ``group``. ``attribute`` is the one that ``follow``
    and ``prejudice`` are about: None for the one owning ``group``, else for a checklist's first.

    In a picture of a person with shares of groups, ``knowledge`` is of the group asked for, and of the
    shares where none is; it goes before ``favour``.
    """

    kind: str
    knowledge: float = 1.0
    prejudice: float = 0.0
    position: float = 0.0
    favour: float = 0.0
    follow: float = 0.0
    refuse: float = 0.0
    withhold: float = 0.0
    nonsense: float = 0.0
    group: str | None = None
    attribute: str | None = None
    style: str = "json"

    @property
    def belief(self) -> Belief:
        """That of its kind."""
        return KINDS[self.kind].belief
