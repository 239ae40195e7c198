"""The files of an imported checklist of items: its head, and a JSON Lines file of the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

ItemFields = dict[str, Any]
"""An item or an option, as in a file."""


def option(text: str, means: str = "", **marks: bool) -> ItemFields:
    """An option of an item: its text, and whatever else is given."""
    return {key: value for key, value in {"text": text, "means": means, **marks}.items() if value}


def written(
    name: str,
    title: str,
    attributes: Mapping[str, Iterable[str]],
    items: Sequence[ItemFields],
    *,
    language: str = "en",
) -> dict[str, str]:
    """The text of the checklist's file and of the file of its items."""
    head = {
        "schema": "factorfair.checklist/1",
        "name": name,
        "title": title,
        "protocol": "items",
        "modality": "text",
        **({} if language == "en" else {"language": language}),
        "attributes": {
            attribute: {
                "groups": {group: {"word": group.replace("_", " ")} for group in dict.fromkeys(groups)}
            }
            for attribute, groups in attributes.items()
        },
        "items": f"{name}.jsonl",
    }
    lines = "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)
    return {f"{name}.yaml": yaml.safe_dump(head, sort_keys=False, allow_unicode=True), f"{name}.jsonl": lines}
