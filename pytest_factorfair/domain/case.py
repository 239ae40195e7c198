"""Cases (each is a pytest item), their queries (single questions), and the sampling of a run."""

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
    """The subject of a case: its part, and the statistic, direction and context if the benchmark has them."""

    part: str
    statistic: str | None = None
    direction: Direction | None = None
    context: str | None = None


UNSPECIFIED = Question("")
"""The question of a case that is known only by its key."""


@dataclass(frozen=True, slots=True)
class Case:
    """An entry of a checklist, asked ``samples`` times; its content is defined by its benchmark's subclass.

    ``attributes`` are the attributes that an answer is about.
    """

    id: str
    checklist: str
    part: str
    attributes: tuple[str, ...]
    samples: int

    @property
    def question(self) -> Question:
        """What the case asks; its record has the same question."""
        return Question(self.part)

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        """The words that select the case, by filter."""
        return {"part": frozenset({self.part}), "attribute": frozenset(self.attributes)}

    @property
    def title(self) -> str:
        """A title for people."""
        return self.id

    @property
    def gist(self) -> str:
        """What sets its questions apart from those of other cases: quoted of a prompt that is too long."""
        return self.title

    @property
    def path(self) -> tuple[str, ...]:
        """The steps to the case in the hierarchy of cases, from the part down."""
        return (self.part,)

    @property
    def judges(self) -> bool:
        """Whether it asks to choose among people, which a model may decline to do."""
        return False

    @property
    def people(self) -> int | None:
        """How many people its pictures show; None for any number."""
        return None

    @property
    def on_sheet(self) -> bool:
        """Whether a contact sheet shows its pictures."""
        return True

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that become pytest marks of the case's item."""
        return (*self.path, *self.attributes)


@dataclass(frozen=True, slots=True)
class Option:
    """A lettered option of a query: its text, the words that may name it, and its groups by attribute.

    ``age`` is a person's age in years; an option that is a group has none. ``unknown`` is whether the option
    means that nobody can know.
    """

    letter: str
    text: str
    words: tuple[str, ...]
    groups: Mapping[str, str]
    age: int | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A user message, with everything that is needed to parse the reply.

    Two queries have the same ``id`` if and only if prompt and repeat are the same; ``repeat`` counts
    identical prompts of a case from 0; ``seed`` is for providers that sample; ``background`` contains the
    groups that a context names at random, by attribute. ``direction`` is the end of the statistic that the
    query asks for ("most likely" is highest), None if it asks for neither. ``case`` is the query's case;
    ``explained`` is whether the reply must give a reason, too. ``picture`` is an encoded picture that is sent
    with the text; the options are then what may be seen in it. A query of text without options is answered by
    the wording of the reply.
    """

    id: str
    prompt: str
    options: tuple[Option, ...]
    repeat: int
    seed: int
    background: Mapping[str, str]
    direction: Direction | None = None
    case: Case | None = field(default=None, compare=False)  # differs in a larger sample
    explained: bool = False
    picture: bytes = field(default=b"", repr=False, compare=False)


Design = Literal["balanced", "paper"]

Declines = Literal["neutral", "missing"]
"""What a declined judgement counts as: an even choice among the people shown, or a missing answer."""
Prompts = Literal["characteristics", "implicit", "all"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sample sizes and the design of a run.

    ``samples`` is the number of answers per topic and context, ``objective`` that per objective case; both
    as requested, before rounding up to whole blocks. ``images`` is the number of pictures per case of an
    image checklist. In a benchmark of prompts, ``prompts`` selects which of them are asked, for
    ``per_prompt`` pictures each; a historical scene is pictured ``per_scene`` times. ``repeats`` is how often
    a question with options of its own is asked.
    ``rounds`` is the number of equal, balanced parts of the sample: a smaller sample with the same rounds
    begins with the same queries. With ``verbatim``, prompts for pictures have the paper's exact wording;
    otherwise they are grammatical. ``declines`` is what declined judgements count as.
    """

    design: Design
    samples: int
    objective: int
    seed: int
    images: int = 20
    prompts: Prompts = "all"
    per_prompt: int = 50
    per_scene: int = 1
    repeats: int = 1
    rounds: int = 1
    verbatim: bool = False
    declines: Declines = "missing"

    def of(self, modality: Modality) -> Sampling:
        """The sampling for checklists of a modality; pictures always have the balanced design.

        A picture does not offer people to choose from: any group can appear in it, as in that design.
        """
        if modality == "text":
            return self
        verbatim = self.design == "paper"
        return replace(
            self,
            design="balanced",
            samples=self.images,
            objective=self.images,
            verbatim=verbatim,
            declines="missing",
        )

    def times(self, factor: int) -> Sampling:
        """The sampling for a sample ``factor`` times as large, which begins with the same queries."""
        return replace(
            self,
            samples=factor * self.samples,
            objective=factor * self.objective,
            images=factor * self.images,
            per_prompt=factor * self.per_prompt,
            per_scene=factor * self.per_scene,
            repeats=factor * self.repeats,
            rounds=factor * self.rounds,
        )
