"""What installed packages add to a run: benchmarks, models and detectors, by hooks like a conftest.py's.

A package names a module that has such hooks in the group ``pytest_factorfair`` of its entry points::

    [project.entry-points.pytest_factorfair]
    greetings = "greetings.hooks"

Under pytest the module becomes a plugin, as a conftest.py is one. Elsewhere, as in ``factorfair compare``,
its hooks are called with None for ``config``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from inspect import signature
from typing import Any, NamedTuple

from pytest_factorfair.errors import InputError

GROUP = "pytest_factorfair"
"""The group of entry points."""

BENCHMARKS = "pytest_factorfair_benchmarks"
MODELS = "pytest_factorfair_models"
DETECTORS = "pytest_factorfair_detectors"


class Extension(NamedTuple):
    """Something with hooks under its name as a plugin; messages say ``where`` it comes from."""

    name: str
    hooks: object
    where: str


def installed(*, blocked: Callable[[str], bool] = lambda _name: False) -> Iterator[Extension]:
    """The extensions of installed packages, without those whose names are ``blocked``.

    Raises:
        InputError: a module cannot be imported.
    """
    for entry_point in entry_points(group=GROUP):
        if blocked(entry_point.name):
            continue
        where = f"entry point '{entry_point.name}'"
        try:
            hooks = entry_point.load()
        except Exception as error:  # a user's package may raise anything
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{where}: importing {entry_point.value} raised {reason}") from error
        yield Extension(entry_point.name, hooks, where)


def benchmarks(extensions: Iterable[Extension]) -> list[Any]:
    """The benchmarks that extensions add.

    Raises:
        InputError: a hook needs pytest's configuration, or returns something else.
    """
    added = (_result(extension, BENCHMARKS, Iterable, "a list") for extension in extensions)
    return [benchmark for result in added for benchmark in result or ()]


def factories(extensions: Iterable[Extension], hook: str) -> dict[str, Any]:
    """The models or detectors that extensions add, by name; later extensions take precedence.

    Raises:
        InputError: a hook needs pytest's configuration, or returns something else.
    """
    merged: dict[str, Any] = {}
    for extension in extensions:
        merged |= _result(extension, hook, Mapping, "a mapping of names") or {}
    return merged


def _result(extension: Extension, name: str, kind: type, expected: str) -> Any:
    """The result of an extension's hook; None without one."""
    hook = getattr(extension.hooks, name, None)
    if hook is None:
        return None
    try:
        result: object = hook(**dict.fromkeys(signature(hook).parameters))
    except Exception as error:  # a user's hook may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{extension.where}: {name}(config=None) raised {reason}") from error
    if not isinstance(result, kind):
        raise InputError(f"{extension.where}: {name}: expected {expected}, got {result!r}")
    return result
