"""What is asked: a case is one pytest item, its queries are the single questions put to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain.checklist import Direction


class CaseKey(NamedTuple):
    """The primary key of a case in a run; never read off a node id."""

    model: str
    checklist: str
    case: str


@dataclass(frozen=True, slots=True)
class Case:
    """One entry of a checklist, asked ``samples`` times.

    ``attributes`` are the attributes an answer speaks about: the one asked for in an objective
    case, all that the statistic has a truth for in a subjective one. ``scenarios`` is among how
    many scenarios the queries of its topic and context are dealt out.
    """

    id: str
    checklist: str
    part: str
    statistic: str
    direction: Direction
    attributes: tuple[str, ...]
    samples: int
    context: str | None = None
    scenario: int | None = None
    scenarios: int = 1


@dataclass(frozen=True, slots=True)
class Option:
    """One lettered choice: its text as printed, the words that name it, and the groups it stands for.

    ``age`` is a person's, in years; a choice that is a group has none.
    """

    letter: str
    text: str
    words: tuple[str, ...]
    groups: Mapping[str, str]
    age: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One user message and what is needed to read the reply.

    ``id`` is the same exactly when prompt and repeat are; ``repeat`` counts identical prompts of
    a case from 0; ``seed`` is for providers that sample; ``background`` are the groups a context
    named at random, by attribute.
    """

    id: str
    prompt: str
    options: tuple[Option, ...]
    repeat: int
    seed: int
    background: Mapping[str, str]
