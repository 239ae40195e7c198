"""Which rooms may import which, as ARCHITECTURE.md says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from pkgutil import walk_packages
from typing import NamedTuple

from pytest_factorfair.models.registry import SCHEMES
from pytest_factorfair.wings import Wing

PACKAGE = Path(__file__).parents[2] / "pytest_factorfair"
PREFIX = "pytest_factorfair."
LAYERS = {"errors": 0, "process": 0, "redaction": 0, "wings": 0, "domain": 0, "checklist": 1, "drawing": 1, "languages": 1, "benchmarks": 1, "benchmark": 1,
          "scoring": 1, "pictures": 1, "models": 1, "local": 1, "store": 1, "engine": 2, "reading": 2, "logs": 2, "detection": 2, "statistics": 1,
          "labelling": 4, "gates": 4, "reports": 5, "exports": 5, "config": 4, "runs": 6,
          "batches": 6, "ray": 6, "plugin": 7, "commands": 7, "checks": 8}  # fmt: skip
WINGS = {"batches", "ray", "local", "exports", "labelling", "logs"}
"""Rooms that the others import for types alone: ``wings.py`` and ``models/registry.py`` name their modules."""
OPENED_BY_HAND = {"commands", "detection/clip_checkpoint.py"}
"""A command imports what it is about; CLIP, a local checkpoint, is itself imported by name."""
PYTEST_FACING = {"plugin", "checks"}
ON_SAVED_COUNTS = {"statistics", "benchmarks", "gates"}
OWNERS = {"sqlalchemy": "store", "asyncio": "engine models local batches ray", "threading": "engine store models local ray", "torch": "local detection",
          "litellm": "models", "aiohttp": "models", "scipy": "benchmarks statistics", "diffusers": "local",
          "onnxruntime": "detection", "vl_convert": "drawing reports", "cv2": "detection",
          "PIL": "pictures detection models reports local"}  # fmt: skip


def imported(tree: ast.AST, *, types: bool = True) -> Iterator[str]:
    """The dotted names that a module imports; ``types`` includes those for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue  # most nodes are, and none of them imports
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif types or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imported(node, types=types)


class Imports(NamedTuple):
    everywhere: frozenset[str]
    when_run: frozenset[str]
    """Without those for type checkers only."""


@cache
def imports() -> dict[str, Imports]:
    """What all modules import, by their paths below the package."""
    by_path = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = Imports(frozenset(imported(tree)), frozenset(imported(tree, types=False)))
        by_path[path.relative_to(PACKAGE).as_posix()] = names
    return by_path


def enters(path: str, imported_room: str) -> bool:
    """Whether an import is one of the core, of a wing."""
    return imported_room in WINGS and not {path, path.split("/", maxsplit=1)[0]} & (WINGS | OPENED_BY_HAND)


def wrong_imports(relative: str, names: Imports) -> Iterator[str]:
    room = relative.removesuffix(".py").split("/")[0]
    for name in sorted(names.everywhere):
        top, _, target = name.partition(".")
        if top == "pytest_factorfair" and room in LAYERS:
            imported_room = target.split(".")[0]
            if imported_room not in LAYERS:
                yield f"{relative}: {name}: no room may import a pytest-facing module"
            elif enters(relative, imported_room):
                if name in names.when_run:
                    yield f"{relative}: {name}: a wing is entered by its name in wings.py"
            elif LAYERS[imported_room] > LAYERS[room]:
                yield f"{relative}: {name}: an import upward"
            elif room in ON_SAVED_COUNTS and imported_room in ("store", "models"):
                yield f"{relative}: {name}: {' and '.join(sorted(ON_SAVED_COUNTS))} run on saved counts"
        if top in ("pytest", "_pytest") and room not in PYTEST_FACING:
            yield f"{relative}: {name}: only {' and '.join(sorted(PYTEST_FACING))} import pytest"
        if top in OWNERS and room not in OWNERS[top].split():
            yield f"{relative}: {name}: only {OWNERS[top]} may import {top}"


def test_rooms_import_only_what_they_may() -> None:
    packages = walk_packages([str(PACKAGE)], "pytest_factorfair.")
    assert len(imports()) == 1 + len(list(packages))  # the package itself
    assert [wrong for path, names in imports().items() for wrong in wrong_imports(path, names)] == []


def imports_of_modules() -> dict[str, set[str]]:
    """The modules that each module imports, by their dotted names below the package."""
    names = {
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): {
            name.removeprefix(PREFIX) for name in module.everywhere if name.startswith(PREFIX)
        }
        for path, module in imports().items()
    }
    return {
        module: {name if name in names else name.rpartition(".")[0] for name in imported_names} - {module}
        for module, imported_names in names.items()
    }


def circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """The names on a circle of imports; empty if there is none."""
    try:
        list(TopologicalSorter(imports).static_order())
    except CycleError as error:
        names: list[str] = error.args[1]
        return names
    return []


def test_rooms_have_no_circular_imports() -> None:
    rooms: dict[str, set[str]] = {}
    for module, modules in imports_of_modules().items():
        room = module.split(".")[0]
        others = {name.split(".")[0] for name in modules} - {room}
        path = f"{module.replace('.', '/')}.py"
        rooms.setdefault(room, set()).update(other for other in others if not enters(path, other))
    assert rooms["reports"] >= {"drawing", "benchmarks"}
    assert circle({room: rooms[room] for room in LAYERS}) == []


def test_modules_have_no_circular_imports() -> None:
    """Not even for types: a part knows what it uses, and nothing that owns it."""
    modules = imports_of_modules()
    assert {"drawing.table", "benchmarks.reporting"} <= modules["benchmarks.items.reporting"]
    assert circle(modules) == []


def test_planning_knows_a_run_but_nothing_that_runs() -> None:
    modules = imports_of_modules()
    reached, ahead = set[str](), {module for module in modules if module.startswith("runs.planning.")}
    assert len(ahead) >= 5
    while ahead:
        reached |= ahead
        ahead = {name for module in ahead for name in modules.get(module, ())} - reached
    assert "runs.run" in reached
    assert (
        reached & {"runs.account", "runs.submissions", "runs.execution", "runs.progress", "runs.driver"}
        == set()
    )


def test_circular_imports_are_found_through_several_modules() -> None:
    modules = imports_of_modules()
    modules["drawing.table"] = modules["drawing.table"] | {"reports.papers"}
    assert {"drawing.table", "reports.papers"} <= set(circle(modules))


def test_every_stop_on_the_path_of_one_answer_exists() -> None:
    """Each stop in ARCHITECTURE.md is a file and a function, or a method, of the package."""
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    path = page.split("## The path of one answer\n")[1].split("\n## ")[0]
    stops = re.findall(r"^\d+\. `([\w/]+\.py)::([\w.]+)`: \S", path, re.MULTILINE)
    assert 8 <= len(stops) <= 12
    assert len(stops) == len(re.findall(r"^\d+\. ", path, re.MULTILINE))
    for file, name in stops:
        scope: Iterable[ast.stmt] = ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
            definitions = [
                statement for statement in scope if isinstance(statement, kinds) and statement.name == part
            ]
            assert definitions, f"{file}::{name} does not exist"
            scope = definitions[0].body


def test_the_core_imports_a_wing_for_types_alone() -> None:
    name = "pytest_factorfair.batches.run.Sender"
    for_types = Imports(frozenset({name}), frozenset())
    when_run = Imports(frozenset({name}), frozenset({name}))
    assert list(wrong_imports("runs/execution.py", for_types)) == []
    [wrong] = wrong_imports("runs/execution.py", when_run)
    assert "by its name in wings.py" in wrong
    assert list(wrong_imports("batches/batching.py", when_run)) == []


def test_every_wing_has_an_entrance() -> None:
    entrances = {wing.value for wing in Wing}
    entrances |= {module for scheme in SCHEMES.values() for module in (scheme.text, scheme.image) if module}
    assert entrances <= imports_of_modules().keys()
    assert {entrance.split(".")[0] for entrance in entrances} - {"models", "store"} == WINGS
