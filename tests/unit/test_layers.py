"""Which rooms may import which, as ARCHITECTURE.md says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import walk_packages

PACKAGE = Path(__file__).parents[2] / "pytest_factorfair"
LAYERS = {"errors": 0, "process": 0, "redaction": 0, "domain": 0, "checklist": 1, "languages": 1, "protocols": 1, "scoring": 1, "pictures": 1, "models": 1, "store": 1, "engine": 2,
          "reading": 2, "detection": 2, "statistics": 1, "labelling": 4, "gates": 4, "reports": 5, "config": 4, "session": 6, "plugin": 7, "commands": 7, "checks": 8}  # fmt: skip
PYTEST_FACING = {"plugin", "checks"}
OWNERS = {"sqlalchemy": "store", "asyncio": "engine models", "threading": "engine store models", "torch": "models detection",
          "litellm": "models", "aiohttp": "models", "scipy": "protocols statistics", "diffusers": "models",
          "onnxruntime": "detection", "vl_convert": "reports", "cv2": "detection", "PIL": "pictures detection models reports"}  # fmt: skip
# A protocol's folder is a slice through the layers: its files belong where their work is done, and only its
# ``__init__`` knows them all, so that it imports them when they are used.
PRINTING = {"printing", "reporting"}
ASSEMBLING = re.compile(r"protocols/(protocol|([a-z_]+/)?__init__)\.py")


def layer(dotted: str) -> int:
    """The layer of a module, or of a name imported from one; names are relative to the package."""
    room, *parts = dotted.split(".")
    return LAYERS["reports"] if room == "protocols" and PRINTING & set(parts) else LAYERS[room]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def wrong_imports(path: Path) -> Iterator[str]:
    relative = path.relative_to(PACKAGE).as_posix()
    module = relative.removesuffix(".py").replace("/", ".")
    room = module.split(".")[0]
    for name in imported(path):
        top, _, target = name.partition(".")
        if top == "pytest_factorfair" and room in LAYERS and not ASSEMBLING.fullmatch(relative):
            imported_room = target.split(".")[0]
            if imported_room not in LAYERS:
                yield f"{relative}: {name}: no room may import a pytest-facing module"
            elif layer(target) > layer(module):
                yield f"{relative}: {name}: an import upward"
        if top in ("pytest", "_pytest") and room not in PYTEST_FACING:
            yield f"{relative}: {name}: only {' and '.join(sorted(PYTEST_FACING))} import pytest"
        if top in OWNERS and room not in OWNERS[top].split():
            yield f"{relative}: {name}: only {OWNERS[top]} may import {top}"


def test_imports() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    packages = walk_packages([str(PACKAGE)], "pytest_factorfair.")
    assert len(modules) == 1 + len(list(packages))  # the package itself
    assert [wrong for path in modules for wrong in wrong_imports(path)] == []


def test_the_strangers_path_exists() -> None:
    """Each stop in ARCHITECTURE.md is a file and a function, or a method, of the package."""
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    path = page.split("## A stranger's path\n")[1].split("\n## ")[0]
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
