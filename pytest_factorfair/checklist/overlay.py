"""Merge a checklist that ``extends`` another over its base, and include the files that it names.

Mappings merge by key, in the order of the base and then of the overlay; null removes a key; any
other value replaces. A list is replaced as well, or edited by a mapping of ``remove`` (positions
in the base's list, from 1) and ``add``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_factorfair import languages
from pytest_factorfair.checklist.locate import exists, locate
from pytest_factorfair.checklist.source import LINES, Node, read, read_lines
from pytest_factorfair.domain import ENGLISH
from pytest_factorfair.errors import InputError, nearest

CHECKLIST = "factorfair.checklist/1"
STATISTICS = "factorfair.statistics/1"
LANGUAGE = "factorfair.language/1"

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_EDITS = frozenset({"add", "remove"})


def resolve(file: Path, base: Path, *, below: tuple[Path, ...] = ()) -> Node:
    """Read a checklist file with its bases merged and the files that it names included.

    Every node keeps the file and line it came from. ``below`` are the files that extend this one.

    Raises:
        ChecklistError: a file is missing or of another kind, extends itself through others, or changes or
            removes something that its base does not have.
    """
    written = read(file, base)
    root = _with_language(_with_files(written, base), base)
    extends = _child(root, "extends")
    if extends is None:
        _check_schema(root, CHECKLIST)
        return root
    if _child(root, "schema") is not None:
        _check_schema(root, CHECKLIST)
    chain = (*below, (base / file).resolve())
    if not isinstance(extends.value, str):
        raise extends.error("must be the name of a shipped checklist or the path of a file")
    target = _extended(extends, base)
    if (base / target).resolve() in chain:
        raise extends.error(f"{extends.value} extends this file in turn; a checklist cannot extend itself")
    parent = resolve(target, base, below=chain)
    # Reports identify checklists by name, so a changed checklist needs a name of its own.
    name, parent_name = _child(root, "name"), _child(parent, "name")
    if name is None:
        raise root.error("missing; a checklist that extends another has a name of its own", beyond=("name",))
    if parent_name is not None and name.value == parent_name.value:
        raise name.error(
            f"'{name.value}' is the name of the checklist that this one extends; give it its own"
        )
    named_a_file = _child(root, "statistics") is not _child(written, "statistics")
    if named_a_file:  # included statistics replace those of the base
        parent = parent.without("statistics")
    return merge(_foreign(parent, root), root.without("extends"))


def _foreign(parent: Node, root: Node) -> Node:
    """A base whose texts know their language, if the overlay has another."""
    if _child(root, "language") is None:
        return parent
    translated = spoken(root) != spoken(parent)
    return (parent.spoken(spoken(parent)) if translated else parent).without("language")


def spoken(root: Node) -> str:
    """The language of a checklist: the code of a shipped one, or of the one that its file extends."""
    named = _child(root, "language")
    if named is None:
        return ENGLISH.code
    return named.language or str(named.value)


def size(file: Path, base: Path) -> int:
    """The size in bytes of the files of JSON Lines that a checklist and its bases name.

    Raises:
        InputError: a file or a base cannot be read.
    """
    total, chain = 0, set[Path]()
    while (path := (base / file).resolve()) not in chain:
        chain.add(path)
        children = read(file, base).mapping()
        named = [str(child.value) for child in children.values() if isinstance(child.value, str)]
        lists = [base / file.parent / name for name in named if name.endswith(LINES)]
        total += sum(lines.stat().st_size for lines in lists if exists(lines))
        if "extends" in children and isinstance(children["extends"].value, str):
            file = _extended(children["extends"], base)
    return total


def _extended(extends: Node, base: Path) -> Path:
    """The file of the checklist that another one extends.

    Raises:
        ChecklistError: there is none.
    """
    try:
        return locate(str(extends.value), relative_to=extends.file.parent, base=base)
    except InputError as error:
        raise extends.error(str(error)) from None


def _with_files(root: Node, base: Path) -> Node:
    """Include the file that ``statistics`` names, and files of JSON Lines; inline content is kept."""
    children = dict(root.mapping())
    for key, named in children.items():
        lines = isinstance(named.value, str) and named.value.endswith(LINES)
        if not (lines or (key == "statistics" and isinstance(named.value, str))):
            continue
        if _ADDRESS.match(str(named.value)):
            raise named.error("must be the path of a file, relative to this one; nothing is fetched")
        file = named.file.parent / str(named.value)
        if not exists(base / file):
            raise named.error(f"there is no file {file}")
        children[key] = read_lines(file, base) if lines else read(file, base)
        if not lines:
            _check_schema(children[key], STATISTICS)
    return replace(root, value=children)


def _with_language(root: Node, base: Path) -> Node:
    """Include the file that ``language`` names; the code of a shipped language is kept."""
    named = _child(root, "language")
    if named is None or not isinstance(named.value, str) or named.value in languages.shipped():
        return root
    file = named.file.parent / named.value
    if _ADDRESS.match(named.value) or not exists(base / file):
        shipped = ", ".join(languages.shipped())
        raise named.error(
            f"'{named.value}' is neither a shipped language ({shipped}) nor a file beside this one; "
            "docs/languages.md says how to add one"
        )
    content = read(file, base)
    _check_schema(content, LANGUAGE)
    extends, code = _child(content, "extends"), named.value
    if extends is not None:
        if extends.value not in languages.shipped():
            raise extends.error(f"must be a shipped language: {', '.join(languages.shipped())}")
        code = str(extends.value)
        content = merge(read(languages.FOLDER / f"{code}.yaml", base), content.without("extends"))
    content = replace(content, language=code)
    return replace(root, value={**root.mapping(), "language": content})


def _check_schema(root: Node, expected: str) -> None:
    schema = _child(root, "schema")
    if schema is None:
        raise root.error(f"missing; the file begins with 'schema: {expected}'", beyond=("schema",))
    if schema.value != expected:
        raise schema.error(f"must be {expected}, not {schema.value}")


def merge(parent: Node, overlay: Node) -> Node:
    """Merge an overlay over its base; added and changed values have the overlay's file and line.

    Raises:
        ChecklistError: the overlay removes something that the base does not have.
    """
    if not isinstance(overlay.value, Mapping):
        return overlay
    if isinstance(parent.value, Mapping):
        merged = dict(parent.value)
        for key, child in overlay.value.items():
            if child.value is not None:
                merged[key] = merge(merged[key], child) if key in merged else child
            elif merged.pop(key, None) is None:
                raise child.error(f"null removes a key, and the base has no such key{nearest(key, merged)}")
        return replace(overlay, value=merged, language=parent.language)
    if isinstance(parent.value, tuple) and overlay.value and set(overlay.value) <= _EDITS:
        items, removed = parent.value, set()
        for item in _items(overlay, "remove"):
            if type(item.value) is not int or not 1 <= item.value <= len(items):
                raise item.error(f"must be a position in the base's list of {len(items)}, counted from 1")
            removed.add(item.value)
        remaining = [item for position, item in enumerate(items, start=1) if position not in removed]
        return replace(overlay, value=(*remaining, *_items(overlay, "add")))
    return overlay


def _items(overlay: Node, key: str) -> tuple[Node, ...]:
    child = _child(overlay, key)
    if child is None:
        return ()
    if not isinstance(child.value, tuple):
        raise child.error("must be a list")
    return child.value


def _child(node: Node, key: str) -> Node | None:
    return node.mapping().get(key)
