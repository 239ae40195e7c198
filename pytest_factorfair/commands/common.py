"""Functions that commands share: reading the user's conftest.py, stores and checklists, and output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_factorfair.config.sources import store_url
from pytest_factorfair.domain import Sampling, visible
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.runs import extensions

if TYPE_CHECKING:
    from pytest_factorfair.domain import Case, Checklist
    from pytest_factorfair.store import Store

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  # no public name
"""The type of a parser's subcommands."""

WRONG_INPUT = 4
"""The exit code for wrong input, as in pytest."""

ALL_PROMPTS = Sampling(design="balanced", samples=1, objective=1, seed=0, prompts="all")

DEFAULT_STORE = "sqlite:///.factorfair/responses.sqlite"


def read_hooks() -> None:
    """Register the benchmarks that installed packages and the current folder's conftest.py add.

    If importing the conftest.py fails, the error is printed and the command continues without it: the file
    may need a running pytest.

    Raises:
        InputError: a benchmark is wrong, or its hook needs pytest's configuration.
    """
    from pytest_factorfair.benchmarks import register

    register(extensions.benchmarks(extensions.hooks(_extensions(), extensions.BENCHMARKS)))


def from_hooks(name: str) -> Mapping[str, Any]:
    """What a hook of installed packages and of the current folder's conftest.py adds, by name.

    Raises:
        InputError: the hook needs pytest's configuration, or returns something else.
    """
    return extensions.factories(extensions.hooks(_extensions(), name))


def _extensions() -> Iterator[extensions.Extension]:
    yield from extensions.installed()
    if (module := _conftest()) is not None:
        yield extensions.Extension("conftest", module, "conftest.py")


def _conftest() -> ModuleType | None:
    file = Path.cwd() / "conftest.py"
    if getattr(sys.modules.get("conftest"), "__file__", None) == str(file):
        return sys.modules["conftest"]
    spec = spec_from_file_location("conftest", file) if file.is_file() else None
    if spec is None or spec.loader is None:
        return None
    sys.path.insert(0, str(file.parent))
    sys.modules["conftest"] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # it is the user's, and pytest.skip raises no Exception
        del sys.modules["conftest"]
        reason = visible(" ".join(f"{type(error).__name__}: {error}".split()))
        sys.stderr.write(f"conftest.py: not used, as importing it raised {reason}\n")
        return None
    return module


def say(line: str) -> None:
    """Print a line, with control characters (for example in a model's name) made visible."""
    sys.stdout.write(f"{visible(line)}\n")


def write(path: Path, content: str | bytes) -> str:
    """Write a file atomically, create its folder if needed, and return its path.

    Raises:
        InputError: the file cannot be written; an existing file is unchanged.
    """
    from pytest_factorfair.reports.files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def check_between(option: str, number: int, maximum: int) -> None:
    """Raise InputError unless the option is a number from 1 to ``maximum``."""
    if not 1 <= number <= maximum:
        raise InputError(f"{option}: expected a number from 1 to {maximum:,}, got {number}")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--model-arg`` to a command that builds a model."""
    parser.add_argument(
        "--model-arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as for --factorfair-model-arg; may be repeated",
    )


def model_arguments(arguments: argparse.Namespace) -> dict[str, str]:
    """The values of ``--model-arg``.

    Raises:
        InputError: one is no pair.
    """
    pairs = {}
    for pair in arguments.model_arg:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise InputError(f"--model-arg {pair}: expected KEY=VALUE")
        pairs[name] = value
    return pairs


def opened(store: str, *, read_only: bool) -> Store:
    """Open an existing store, by URL, file or folder.

    Raises:
        StoreError: there is no such store, or it cannot be opened.
    """
    from pytest_factorfair.store import Store

    url = store_url(store)
    path = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not path.exists():
        raise StoreError(f"{path}: no such response store")
    return Store.open(url, read_only=read_only)


def split(sources: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split sources into reports and stores; without a store, the default store is used."""
    reports = [source for source in sources if source.endswith((".json", ".json.gz"))]
    return reports, [source for source in sources if source not in reports] or [DEFAULT_STORE]


def stored_pictures(
    stack: ExitStack, stores: Sequence[str]
) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Yield model, key and reader of every picture in the stores; lazily, because there may be millions."""
    from pytest_factorfair.store import upkeep

    for name in stores:
        store = stack.enter_context(opened(name, read_only=True))
        for model, key, file in upkeep.pictures(store):
            yield model, key, partial(store.pictures.read, file)


def loaded(name: str, truth: str) -> tuple[Checklist, dict[str, Case]]:
    """Load a checklist by name or path, and all its cases by id.

    Raises:
        InputError: there is no such checklist.
    """
    from pytest_factorfair import benchmarks

    checklist = benchmarks.load(name, truth=truth, base=Path.cwd())
    return checklist, {case.id: case for case in benchmarks.cases(checklist, ALL_PROMPTS)}


def same_content(where: Path | str, digest: str | None, checklist: Checklist) -> None:
    """Check that a checklist has the content that the run used, whose hash is ``digest``.

    Raises:
        InputError: the hash differs, or is None because the run has no checklist of that name.
    """
    if digest is None:
        raise InputError(f"{where}: it has no checklist {checklist.name}; name its own with --checklist")
    if digest != checklist.digest:
        raise InputError(
            f"{where}: the content of checklist {checklist.name} has changed: {digest[:12]} there, "
            f"{checklist.digest[:12]} here"
        )
