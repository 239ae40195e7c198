"""What installed packages add to a run: benchmarks, models and detectors, by hooks like a conftest.py's.

A package names a module that has such hooks in the group ``pytest_factorfair`` of its entry points::

    [project.entry-points.pytest_factorfair]
    greetings = "greetings.hooks"

Under pytest the module becomes a plugin, as a conftest.py is one. Elsewhere, as in ``factorfair compare``,
its hooks are called with None for ``config``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import entry_points
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pytest_factorfair.benchmarks import check_kind
from pytest_factorfair.errors import InputError, attributed
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks import AnyBenchmark

GROUP = "pytest_factorfair"
"""The group of entry points."""

BENCHMARKS = "pytest_factorfair_benchmarks"
MODELS = "pytest_factorfair_models"
DETECTORS = "pytest_factorfair_detectors"
READ_ANSWER = "pytest_factorfair_read_answer"


class Extension(NamedTuple):
    """Something with hooks under its name as a plugin; messages say ``where`` it comes from."""

    name: str
    hooks: object
    where: str


class Hook(NamedTuple):
    """An implementation of a hook; ``where`` names it in messages."""

    where: str
    call: Callable[[], object]


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


def hooks(extensions: Iterable[Extension], name: str) -> Iterator[Hook]:
    """The extensions' hooks of this name, which get None for each argument, such as pytest's config."""
    for extension in extensions:
        if (function := getattr(extension.hooks, name, None)) is not None:
            arguments = dict.fromkeys(signature(function).parameters)
            yield Hook(f"{extension.where}: {name}(config=None)", partial(function, **arguments))


def benchmarks(implementations: Iterable[Hook]) -> list[AnyBenchmark]:
    """The benchmarks that hooks add.

    Raises:
        InputError: a hook raises an exception, or returns something else.
    """
    added: list[AnyBenchmark] = []
    for hook in implementations:
        with attributed(hook.where):
            result = hook.call()
            is_list = isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping)
            items = [*cast("Iterable[AnyBenchmark]", result)] if is_list else None
        if items is None:
            raise _wrong(hook, "a list of benchmarks", result)
        for item in items:
            check_kind(item, hook.where)
        added += items
    return added


def factories(implementations: Iterable[Hook]) -> dict[str, Any]:
    """The models or detectors that hooks add, by name; later hooks take precedence.

    Raises:
        InputError: a hook raises an exception, or returns something else.
    """
    merged: dict[str, Any] = {}
    for hook in implementations:
        with attributed(hook.where):
            result = hook.call()
        if not isinstance(result, Mapping) or not all(
            isinstance(name, str) and callable(factory) for name, factory in result.items()
        ):
            raise _wrong(hook, "a mapping from names to functions", result)
        merged |= result
    return merged


def _wrong(hook: Hook, expected: str, result: object) -> InputError:
    return InputError(f"{hook.where}: expected {expected}, got {fit(repr(result))}")
