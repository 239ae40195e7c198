"""The files of an imported checklist of items: its head, and a JSON Lines file of the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest

ItemFields = dict[str, Any]
"""An item or an option, as in a file."""


def option(text: str, means: str = "", **marks: bool) -> ItemFields:
    """An option of an item: its text, and whatever else is given."""
    return {key: value for key, value in {"text": text, "means": means, **marks}.items() if value}


def written(
    request: ImportRequest,
    title: str,
    attributes: Mapping[str, Iterable[str]],
    items: Sequence[ItemFields],
    notes: Iterable[str],
    *,
    language: str = "en",
) -> ImportedChecklist:
    """The checklist's file, which begins with the notes as comments, and the file of its items."""
    head = {
        "schema": "factorfair.checklist/1",
        "name": request.name,
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
        "items": f"{request.stem}.jsonl",
    }
    notes = tuple(notes)
    comments = "".join(f"# {note}\n" for note in notes)
    files = {
        f"{request.stem}.yaml": comments + yaml.safe_dump(head, sort_keys=False, allow_unicode=True),
        f"{request.stem}.jsonl": "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items),
    }
    return ImportedChecklist(files, notes)
