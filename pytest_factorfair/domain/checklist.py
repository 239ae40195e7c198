"""What all checklists have, whatever their protocol: a name, and the groups they divide people into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Modality = Literal["text", "image"]


@dataclass(frozen=True, slots=True)
class Language:
    """The language that a checklist asks in: its code, and what its file says, as JSON.

    Without content it is the shipped language of that code.
    """

    code: str = "en"
    content: str = ""


ENGLISH = Language()


@dataclass(frozen=True, slots=True)
class Attribute:
    """A way to divide people into k groups.

    ``words`` is each group as it stands inside a sentence ("female"), ``aliases`` what a reader
    of answers accepts for it. ``crossed`` names the attributes whose product this one is (its
    groups are then "Asian Female", ... in the order of ``itertools.product``), and is empty for
    an attribute of its own.
    """

    name: str
    groups: tuple[str, ...]
    words: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]]
    crossed: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, slots=True)
class Source:
    """Who publishes a statistic; ``status`` is how its figures were checked."""

    statistic: str
    agency: str
    year: str
    status: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """A validated checklist under one truth; ``digest`` is the hash of all its content.

    What it asks is in the fields that its protocol's own class adds.
    """

    name: str
    title: str
    protocol: str
    modality: Modality
    truth: str
    attributes: tuple[Attribute, ...]
    digest: str
    language: Language = field(default=ENGLISH, kw_only=True)

    def __hash__(self) -> int:
        return hash(self.digest)

    def attribute(self, name: str) -> Attribute:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    @property
    def leading(self) -> str | None:
        """The attribute that its questions are about before any other; None if it has no attribute."""
        return next((attribute.name for attribute in self.attributes), None)
