"""From a name or a path to a validated checklist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_factorfair.checklist.fields import Opening
from pytest_factorfair.checklist.locate import locate
from pytest_factorfair.checklist.overlay import resolve
from pytest_factorfair.checklist.problems import refuse, structural
from pytest_factorfair.checklist.protocol import Files, Protocol
from pytest_factorfair.checklist.protocols import PROTOCOLS
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import Checklist
from pytest_factorfair.errors import InputError, nearest


def load(name_or_path: str, *, truth: str, base: Path) -> Checklist:
    """The checklist of a shipped name or a path (relative to ``base``) under one truth set.

    Raises:
        ChecklistError: a file cannot be read or says what cannot be right; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    files, _, file = parse(name_or_path, base=base)
    known = files.truths(file)
    if truth not in known:
        raise InputError(f"checklist '{file.name}' has no truth set '{truth}'; it has: {', '.join(known)}")
    checklist: Checklist = files.build(file, truth)
    return checklist


def parse(name_or_path: str, *, base: Path) -> tuple[Files[Any, Any], Node, Opening]:
    """How a checklist is read, its merged tree and its validated layout, before a truth set is chosen.

    Raises:
        InputError: as ``load``, but for the truth set.
    """
    root = resolve(locate(name_or_path, beside=Path(), base=base), base)
    files = _protocol(root).files()
    try:
        file: Opening = files.layout(root.plain())
    except ValidationError as error:
        refuse(root, structural(error))
        raise
    for rule in files.rules:
        refuse(root, rule(file))
    return files, root, file


def _protocol(root: Node) -> Protocol[Any, Any, Any]:
    node, beyond = root.find(("protocol",))
    if beyond:
        raise root.error(f"missing; known: {', '.join(PROTOCOLS)}", beyond=beyond)
    if node.value not in PROTOCOLS:
        raise node.error(f"unknown protocol '{node.plain()}'{nearest(str(node.plain()), PROTOCOLS)}")
    return PROTOCOLS[str(node.value)]
