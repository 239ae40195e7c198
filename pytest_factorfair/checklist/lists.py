"""Lists of a checklist, which may stand in a file of JSON Lines: their selectors and their JSON Schema."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from typing import Any

from pytest_factorfair.checklist.selection import Selector
from pytest_factorfair.checklist.source import Node

TINY = 100
"""Entries that the preset ``tiny`` asks, about."""


def by_key(about: str, section: str, key: str, default: str = "") -> Selector:
    """The selector of a list's entries by the value of a key, or by its default."""

    def entries(root: Node) -> tuple[Node, ...]:
        listed = root.mapping().get(section)
        return listed.value if listed is not None and isinstance(listed.value, tuple) else ()

    def value(entry: Node) -> str:
        node = entry.mapping().get(key)
        return default if node is None else str(node.value)

    def keep(root: Node, names: Collection[str]) -> Node:
        matching = tuple(entry for entry in entries(root) if value(entry) in names)
        return root.changed((), lambda keys: {**keys, section: replace(keys[section], value=matching)})

    return Selector(about, lambda root: map(value, entries(root)), keep)


def schema(whole: dict[str, Any], section: str) -> dict[str, Any]:
    """The JSON Schema of a file whose list is given there or in a file of its own."""
    whole["properties"][section] = {
        "description": f"The path of a JSON Lines file, relative to this file, or its {section}.",
        "anyOf": [{"type": "string"}, whole["properties"][section]],
    }
    return whole


def first_of_strata(entries: Iterable[tuple[str, Hashable]]) -> tuple[str, ...]:
    """The ids of the first entries of each stratum, some 100 in all; an entry is an id and its stratum."""
    strata: dict[Hashable, list[str]] = {}
    for id_, stratum in entries:
        strata.setdefault(stratum, []).append(id_)
    size = max(1, TINY // len(strata))
    return tuple(id_ for ids in strata.values() for id_ in ids[:size])
