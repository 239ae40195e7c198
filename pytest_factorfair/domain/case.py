"""What is asked: a case is one pytest item, its queries are the single questions put to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Direction = Literal["highest", "lowest"]

DIRECTIONS: tuple[Direction, Direction] = ("highest", "lowest")


class CaseKey(NamedTuple):
    """The primary key of a case in a run; never parsed from a node id."""

    model: str
    checklist: str
    case: str


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
