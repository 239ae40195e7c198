"""Import an object from a module or file, as named by ``module:attribute`` or ``file.py:attribute``."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.redaction import fit


def load(target: str, label: str) -> object:
    """Import the object named by ``module:attribute`` or ``path/to/file.py:attribute`` (dots allowed).

    ``label`` names the object in messages ("model 'python:mine:ask'").

    Raises:
        InputError: there is no such module, file or attribute, or the import fails.
    """
    origin, _, path = target.rpartition(":")
    if not origin or not path:
        raise InputError(f"{label}: write python:module:attribute or python:path/to/file.py:attribute")
    try:
        loaded: object = (
            _from_file(label, Path(origin)) if origin.endswith(".py") else _by_name(label, origin)
        )
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        reason = fit(f"{type(error).__name__}: {error}")
        raise InputError(f"{label}: importing '{origin}' failed: {reason}") from error
    for word in path.split("."):
        if not hasattr(loaded, word):
            public = [name for name in getattr(loaded, "__dict__", ()) if not name.startswith("_")]
            raise InputError(f"{label}: '{origin}' has no '{path}'{nearest(word, public)}")
        loaded = getattr(loaded, word)
    return loaded


def module_of(target: str) -> ModuleType:
    """The module of a target that ``load`` has imported."""
    origin = target.rpartition(":")[0]
    return sys.modules[_name(Path(origin)) if origin.endswith(".py") else origin]


def _name(path: Path) -> str:
    return f"factorfair_model_{path.stem}"


def _by_name(label: str, name: str) -> ModuleType:
    """Import a module by name; the folder in which pytest was started is searched last."""
    _look_in(Path.cwd())
    try:
        spec = find_spec(name)
    except ModuleNotFoundError as error:
        if not name.startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None:
        raise InputError(f"{label}: there is no module '{name}' in {Path.cwd()} or on Python's path")
    return importlib.import_module(name)


def _from_file(label: str, path: Path) -> ModuleType:
    """Import a file as a module with a unique name; it can import modules in its folder."""
    if not path.is_file():
        raise InputError(f"{label}: there is no file '{path}' in {Path.cwd()}")
    name = _name(path)
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{label}: '{path}' cannot be imported")
    _look_in(path.parent.resolve())
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    spec.loader.exec_module(module)
    return module


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
