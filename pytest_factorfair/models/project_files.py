"""The files of a user's project that an object depends on: its module, and the modules that this imports."""

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
    """The files of these modules and of all that they import, directly or not, without installed libraries.

    Imports are found in the source, also those within functions and, by literal names, with ``importlib``;
    nothing is imported for this.
    """
    files: dict[Path, bytes] = {}
    waiting = [(module.__file__ or "", module.__package__ or "") for module in modules if _has_file(module)]
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
    _spec.cache_clear()  # modules come and go
    return files


def _has_file(module: ModuleType) -> bool:
    return bool(getattr(module, "__file__", None))


@lru_cache(maxsize=1024)  # the model of each item may be made anew
def _imported(source: bytes, package: str) -> tuple[str, ...]:
    """The names of what may be modules in the imports of a source file, and of their packages."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # of a file that is not imported, or for another version of Python
        return ()
    imported: dict[str, None] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        with suppress(ImportError):  # beyond the top package
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
    """The spec of a module by its full name, without importing its package."""
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
