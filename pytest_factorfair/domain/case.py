"""What is asked: a case is one pytest item, its queries are the single questions; and how much of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from pytest_factorfair.domain.checklist import Modality

Direction = Literal["highest", "lowest"]

DIRECTIONS: tuple[Direction, Direction] = ("highest", "lowest")


class CaseKey(NamedTuple):
    """The primary key of a case in a run. Nothing is read from a case's id: its record has the fields."""

    model: str
    checklist: str
    case: str


class Question(NamedTuple):
    """What a case asks: its part, and the statistic, direction and context if the benchmark has them."""

    part: str
    statistic: str | None = None
    direction: Direction | None = None
    context: str | None = None


UNSPECIFIED = Question("")
"""What a case asks of which only the key is known."""


@dataclass(frozen=True, slots=True)
class Case:
    """One entry of a checklist, asked ``samples`` times; its protocol defines its content.

    ``attributes`` are those that an answer is about.
    """

    id: str
    checklist: str
    part: str
    attributes: tuple[str, ...]
    samples: int

    @property
    def question(self) -> Question:
        """What it asks; its record has the same."""
        return Question(self.part)

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        """The filter words that select the case, by the name of the filter."""
        return {"part": frozenset({self.part}), "attribute": frozenset(self.attributes)}

    @property
    def title(self) -> str:
        """A title for people."""
        return self.id

    @property
    def place(self) -> tuple[str, ...]:
        """Its place in the hierarchy of cases, from the part down."""
        return (self.part,)

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that become pytest marks of its item."""
        return (*self.place, *self.attributes)


@dataclass(frozen=True, slots=True)
class Option:
    """One lettered choice: its text as printed, the words that name it, and the groups it stands for.

    ``age`` is a person's age in years; a choice that is a group has none.
    """

    letter: str
    text: str
    words: tuple[str, ...]
    groups: Mapping[str, str]
    age: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One user message and what is needed to read the reply.

    Two queries have the same ``id`` if and only if prompt and repeat are the same; ``repeat`` counts
    identical prompts of a case from 0; ``seed`` is for providers that sample; ``background`` contains the
    groups that a context names at random, by attribute. ``direction`` is the end of the statistic that the
    query asks for ("most likely" is highest), None if it asks for neither. ``case`` is the query's case;
    ``explained`` is whether the reply must give a reason, too. ``picture`` is an encoded picture that the
    message shows beside its text; the options are then what may be seen in it.
    """

    id: str
    prompt: str
    options: tuple[Option, ...]
    repeat: int
    seed: int
    background: Mapping[str, str]
    direction: Direction | None = None
    case: Case | None = field(default=None, compare=False)  # a larger sample makes another case
    explained: bool = False
    picture: bytes = field(default=b"", repr=False, compare=False)


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
