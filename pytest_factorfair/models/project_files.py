"""Find the project files that an object depends on: its module's file, and those of imported modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

from pytest_factorfair.errors import is_library


def contents(modules: Iterable[ModuleType]) -> dict[Path, bytes]:
    """The contents of the files of these modules and of all modules that they import, directly or not.

    Installed libraries are left out. Imports are found by parsing the source, including imports in functions
    and calls of ``importlib`` with a literal name; nothing is imported.
    """
    files: dict[Path, bytes] = {}
    waiting = [
        (module.__file__ or "", module.__package__ or "")
        for module in modules
        if getattr(module, "__file__", None)
    ]
    while waiting:
        name, package = waiting.pop()
        file = Path(name).resolve()
        if file in files or is_library(name) or is_library(str(file)) or not file.is_file():
            continue
        files[file] = file.read_bytes()
        if file.suffix == ".py":
            specs = map(_spec, _imported(files[file], package))
            located = [spec for spec in specs if spec is not None and spec.has_location]
            waiting += [(spec.origin or "", spec.parent or "") for spec in located]
    _spec.cache_clear()  # modules may be added or removed before the next call
    return files


@lru_cache(maxsize=1024)  # a fixture may build its model anew for each test
def _imported(source: bytes, package: str) -> tuple[str, ...]:
    """The names in a source file's imports that may be modules or packages."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # not the source of this interpreter
        return ()
    imported: dict[str, None] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        with suppress(ImportError):  # a relative import beyond the top package
            match node:
                case ast.Import():
                    names = [alias.name for alias in node.names]
                case ast.ImportFrom():
                    base = resolve_name("." * node.level + (node.module or ""), package)
                    names = [f"{base}.{alias.name}" for alias in node.names]
                case ast.Call(
                    func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                    args=[ast.Constant(str(name)), *_],
                ):
                    names = [resolve_name(name, package)]
        for name in names:
            parts = name.split(".")
            imported |= dict.fromkeys(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return tuple(imported)


@cache
def _spec(name: str) -> ModuleSpec | None:
    """Find the spec of a module by its full name, without importing its package."""
    if (module := sys.modules.get(name)) is not None:
        return getattr(module, "__spec__", None)
    package, _, _ = name.rpartition(".")
    path = None
    if package:
        parent = _spec(package)
        if parent is None or parent.submodule_search_locations is None:
            return None
        if is_library(parent.origin or ""):
            return None
        path = list(parent.submodule_search_locations)
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, path)) is not None:
            return spec
    return None
