"""``only`` in a checklist: of some sections, keep the entries that it names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_factorfair.checklist.source import Node
from pytest_factorfair.errors import nearest

KEY = "only"


@dataclass(frozen=True, slots=True)
class Selector:
    """A key of ``only``: the names to choose from, and the file without what belongs to other names."""

    about: str
    names: Callable[[Node], Iterable[str]]
    keep: Callable[[Node, Collection[str]], Node]


Selectors = Mapping[str, Selector]
Selection = Mapping[str, Collection[str]]


def section(about: str, *path: str) -> Selector:
    """The selector of keys of a mapping of the file."""
    return Selector(
        about,
        names=lambda root: root.mapping(*path),
        keep=lambda root, names: root.changed(path, lambda entries: subset(entries, names)),
    )


def subset(entries: Mapping[str, Node], names: Collection[str]) -> dict[str, Node]:
    """The entries with these names."""
    return {name: entry for name, entry in entries.items() if name in names}


def selected(root: Node, selectors: Selectors) -> Node:
    """The file that ``only`` leaves of a whole one.

    Raises:
        ChecklistError: ``only`` has an unknown key or name, or the wrong form.
    """
    only = root.mapping().get(KEY)
    if only is None:
        return root
    if not isinstance(only.value, Mapping):
        raise only.error(f"must be a mapping of {', '.join(selectors) or 'nothing in this benchmark'}")
    selection = {}
    for key, listed in only.value.items():
        if key not in selectors:
            raise listed.error(f"unknown key '{key}'{nearest(key, selectors)}")
        items = listed.value if isinstance(listed.value, tuple) else (listed,)
        names = {*selectors[key].names(root)}
        for item in items:
            if not isinstance(item.value, str):
                raise item.error("must be a name or a list of names")
            if item.value not in names:
                raise item.error(f"there is no '{item.value}' among the {key}{nearest(item.value, names)}")
        selection[key] = [str(item.value) for item in items]
    return reduced(root.without(KEY), selectors, selection)


def reduced(root: Node, selectors: Selectors, selection: Selection) -> Node:
    """The file without what belongs to names that are not selected."""
    for key, names in selection.items():
        root = selectors[key].keep(root, names)
    return root


def schema(selectors: Selectors) -> dict[str, Any]:
    """The JSON Schema of ``only``."""
    return {
        "title": "Only",
        "description": "What to ask about; the rest of the checklist is left out.",
        "type": "object",
        "properties": {
            key: {
                "description": selector.about,
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            }
            for key, selector in selectors.items()
        },
        "additionalProperties": False,
    }
