"""The base class of checklists, and their attributes with groups, languages and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Modality = Literal["text", "image"]


@dataclass(frozen=True, slots=True)
class Language:
    """The language of a checklist: its code, and the content of its file as JSON.

    Without content, it is the shipped language with that code.
    """

    code: str = "en"
    content: str = ""


ENGLISH = Language()


@dataclass(frozen=True, slots=True)
class Attribute:
    """A way to divide people into k groups.

    ``words`` are the words for each group inside a sentence ("female"), ``aliases`` further words that are
    accepted in answers. ``crossed`` names the attributes that it combines (its groups are then "Asian
    Female", ... in the order of ``itertools.product``); otherwise it is empty. ``label`` and ``labels`` are
    what prompts call it and its groups where they are not called by their names, as in a translation.
    """

    name: str
    groups: tuple[str, ...]
    words: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]]
    crossed: tuple[str, ...] = ()
    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def k(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, slots=True)
class Source:
    """The publisher of a statistic; ``status`` is how its figures were checked."""

    statistic: str
    agency: str
    year: str
    status: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """A validated checklist with one truth set; ``digest`` is the hash of all its content.

    ``requested`` is the shipped name or the path that it was loaded by. Each benchmark has a subclass with
    fields for what it asks.
    """

    name: str
    title: str
    protocol: str
    modality: Modality
    truth: str
    attributes: tuple[Attribute, ...]
    digest: str
    language: Language = field(default=ENGLISH, kw_only=True)
    requested: str = field(default="", kw_only=True, compare=False)

    def __hash__(self) -> int:
        return hash(self.digest)

    def attribute(self, name: str) -> Attribute:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    @property
    def uncrossed(self) -> tuple[Attribute, ...]:
        """The attributes that a detector perceives in a face; crossed ones combine them."""
        return tuple(attribute for attribute in self.attributes if not attribute.crossed)

    @property
    def leading(self) -> str | None:
        """The main attribute of the checklist's questions, the first one; None if it has no attribute."""
        return next((attribute.name for attribute in self.attributes), None)
