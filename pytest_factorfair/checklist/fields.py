"""Types of fields in checklists: the first fields of every checklist, and the groups of people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from textwrap import shorten
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pytest_factorfair.domain import Attribute, Modality
from pytest_factorfair.errors import nearest

ID = r"^[a-z0-9_]+$"
PLACEHOLDER = r"^[a-z_]+$"
LINE = r"^[^\r\n]+$"
GROUP = r"^[^,{}\r\n]+$"

Text = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(pattern=LINE)]
Id = Annotated[str, Field(pattern=ID)]
Placeholder = Annotated[str, Field(pattern=PLACEHOLDER)]
GroupName = Annotated[str, Field(pattern=GROUP)]
Figure = Annotated[float, Field(allow_inf_nan=False)]
Age = Annotated[int, Field(ge=0, le=150)]

ONE_OR_MORE = BeforeValidator(
    lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | list[str]
)
"""A list of texts; a single text stands for a list that contains it."""

Year = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"type": ["string", "integer"]}),
]


def _distinct(values: list[Any]) -> list[Any]:
    repeated = next((value for position, value in enumerate(values) if value in values[:position]), None)
    if repeated is not None:
        raise ValueError(f"lists {shorten(str(repeated), 60)} twice")
    return values


Distinct = AfterValidator(_distinct)


class Layout(BaseModel):
    """The base class of layouts: no unknown keys, no conversions, no blanks around text."""

    # Deferred until a file is validated: building every layout on its own would build its parts repeatedly.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, str_strip_whitespace=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any, info: ValidationInfo) -> Any:
        """Reject unknown keys before pydantic does, to suggest the key that was meant."""
        known_keys = {field.alias or name for name, field in cls.model_fields.items()} | cls.more_keys(info)
        for key in data if isinstance(data, dict) else ():
            if key not in known_keys:
                problem = f"unknown key{nearest(key, known_keys)}"
                raise PydanticCustomError("unknown_key", "{problem}", {"key": key, "problem": problem})
        return data

    @classmethod
    def more_keys(cls, info: ValidationInfo) -> set[str]:
        """The keys that are allowed besides the fields, in layouts whose keys are names."""
        del info
        return set()


class ChecklistHeader(Layout):
    """The first fields of every checklist; each benchmark restricts ``protocol`` to its own name."""

    schema_: Literal["factorfair.checklist/1"] = Field(default="factorfair.checklist/1", alias="schema")
    name: Id
    title: Line
    protocol: Id
    modality: Modality
    language: str = Field(
        "en", min_length=1, description="A shipped language's code, or the path of a language file."
    )

    @model_serializer(mode="wrap")
    def _unless_english(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the default language, so that naming English does not change a checklist's hash."""
        content: dict[str, Any] = serialize(self)
        if self.language == "en":
            del content["language"]
        return content

    version: int = Field(default=1, ge=1, description="Increased when the questions of a checklist change.")


def hashed(content: Any) -> str:
    """The SHA-256 of a checklist's content, in hexadecimal; the order of keys does not matter."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Group(Layout):
    """A group of people."""

    word: Line = Field(description="The group inside a sentence: 'a female individual'.")
    aliases: list[Line] = Field(default=[], description="What else an answer may call the group.")


class Labelled(Layout):
    """What prompts may call by another name, as a translation does."""

    label: Line | None = Field(default=None, description="What prompts call it, if not by its name.")

    @model_serializer(mode="wrap")
    def _unless_its_name(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit a label that is not given, so that a checklist without labels keeps its hash."""
        content: dict[str, Any] = serialize(self)
        if self.label is None:
            del content["label"]
        return content


class LabelledGroup(Group, Labelled):
    """A group of people, which a translation can call by another name."""


def spoken(name: str, group: Group) -> tuple[str, ...]:
    """All names of a group: its name, its label, its word in a sentence, and its aliases."""
    return tuple(dict.fromkeys((name, _label(group) or name, group.word, *group.aliases)))


def _label(group: Group) -> str | None:
    return group.label if isinstance(group, LabelledGroup) else None


def attribute(name: str, groups: Mapping[str, Group], label: str = "") -> Attribute:
    """The attribute that divides people into these groups."""
    return Attribute(
        name=name,
        groups=tuple(groups),
        words={group_name: group.word for group_name, group in groups.items()},
        aliases={group_name: tuple(group.aliases) for group_name, group in groups.items()},
        label=label,
        labels={group_name: text for group_name, group in groups.items() if (text := _label(group))},
    )
