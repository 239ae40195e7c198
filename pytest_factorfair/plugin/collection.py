"""Checklist cases as pytest items: the shipped checks, and the parametrization of every test that asks."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.errors import nearest
from pytest_factorfair.plugin.keys import EXECUTION

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Assignment, Run

ASSIGNMENT = "factorfair_assignment"
"""The parametrized fixture, on which all others depend."""

CHECKS = "pytest_factorfair.checks"
SHIPPED = "factorfair"
"""The node id of the shipped checks, and the prefix of their items' ids."""

CHECKS_FILE = Path(__file__).parents[1] / "checks" / "test_checklist.py"


def dry(config: pytest.Config) -> bool:
    """Whether pytest only shows its plans, so that nothing is asked or written."""
    shows = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "cacheshow")
    return any(getattr(config.option, name, False) for name in shows)


class Checks(pytest.Module):
    """The shipped checks, under a short node id, with the hooks and fixtures of the root conftest.

    We add them to the session ourselves: pytest drops a path appended to the arguments if a virtual
    environment lies inside the project, and its items would not see the root conftest's hooks.
    """

    def _getobj(self) -> Any:
        return importlib.import_module(f"{CHECKS}.test_checklist")

    def funcnamefilter(self, name: str) -> bool:
        """Ignore the user's ``python_functions``, which is for the user's files."""
        return name.startswith("test_")

    @property
    def ihook(self) -> Any:
        return self.session.gethookproxy(self.config.rootpath)

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        for item in super().collect():
            item.path = self.config.rootpath
            yield item


def add_shipped_checks(session: pytest.Session, report: pytest.CollectReport) -> None:
    """Append the shipped checks, unless the command line names paths.

    As one more argument, pytest would drop their path where a ``.venv`` lies inside the project.
    """
    if session.config.args_source is not pytest.Config.ArgsSource.ARGS:
        report.result.append(Checks.from_parent(session, path=session.config.rootpath, nodeid=SHIPPED))


def shipped_module(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """The shipped checks for ``--pyargs pytest_factorfair.checks``, with the same ids and hooks."""
    if module_path == CHECKS_FILE:
        module: pytest.Module = Checks.from_parent(parent, path=module_path, nodeid=SHIPPED)
        return module
    return None


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One item per case and model; without a run, a single item that is skipped with the reason."""
    execution = metafunc.config.stash.get(EXECUTION, None)
    if execution is None:
        skip = pytest.mark.skip(reason="no model: give --factorfair-model")
        metafunc.parametrize(ASSIGNMENT, [pytest.param(None, id="no-model", marks=skip)])
        return
    assignments = _selected(metafunc, execution.run)
    names = dict.fromkeys(name for assignment in assignments for name in assignment.case.marks)
    marks = {name: getattr(pytest.mark, name) for name in names}
    params = [
        pytest.param(assignment, id=assignment.id, marks=[marks[name] for name in assignment.case.marks])
        for assignment in assignments
    ]
    metafunc.parametrize(ASSIGNMENT, params)


def _selected(metafunc: pytest.Metafunc, run: Run) -> list[Assignment]:
    """The assignments that match every ``factorfair`` mark of the test.

    A wrong mark fails the collection of the module, with one line.
    """
    filters = []
    for mark in metafunc.definition.iter_markers("factorfair"):
        lists = [value for value in mark.kwargs.values() if not isinstance(value, str)]
        plain = all(isinstance(value, (list, tuple, set)) for value in lists)
        if mark.args or not plain or not all(isinstance(word, str) for value in lists for word in value):
            arguments = [*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())]
            pytest.fail(
                f"factorfair marker: expected name='text' or name=['text', ...], got {', '.join(arguments)}",
                pytrace=False,
            )
        for name, value in mark.kwargs.items():
            filters.append((name, {value} if isinstance(value, str) else set(value)))
    vocabulary: dict[str, set[str]] = {}
    for assignment in run.assignments:
        for name, offered in assignment.case.words.items():
            vocabulary.setdefault(name, set()).update(offered)
    for name, words in filters:
        if name not in vocabulary:
            pytest.fail(
                f"factorfair marker: unknown filter '{name}'{nearest(name, vocabulary)}", pytrace=False
            )
        for word in sorted(words - vocabulary[name]):
            pytest.fail(f"factorfair marker: {name}='{word}'{nearest(word, vocabulary[name])}", pytrace=False)
    return [
        assignment
        for assignment in run.to_ask
        if all(assignment.case.words.get(name, frozenset()) & words for name, words in filters)
    ]


def narrowed(config: pytest.Config) -> bool:
    """Whether an option of pytest's selects tests, so that only their collection shows how many are left."""
    names = ("keyword", "markexpr", "deselect", "lf", "stepwise")
    by_path = config.args_source is pytest.Config.ArgsSource.ARGS
    return by_path or any(getattr(config.option, name, None) for name in names)


def assignments_of(nodeids: Iterable[str], run: Run) -> Iterator[Assignment]:
    """The assignments of items; an item's parameter id may contain the ids of other parameters, too."""
    by_id = run.by_id
    for nodeid in nodeids:
        _, bracket, text = nodeid.partition("[")
        if not bracket or not text.endswith("]"):
            continue
        text = text.removesuffix("]")
        cuts = [position for position, letter in enumerate(text) if letter == "-"]
        # The longest first: one id may begin with another.
        parts = [text, *(text[cut + 1 :] for cut in cuts), *(text[:cut] for cut in reversed(cuts))]
        if (part := next((part for part in parts if part in by_id), None)) is not None:
            yield by_id[part]


def left_out(config: pytest.Config) -> str:
    """Why cases were not selected, as far as pytest's options show."""
    selectors = []
    by_path = config.args_source is pytest.Config.ArgsSource.ARGS
    by_path = by_path and not any(path.startswith(CHECKS) for path in config.args)
    if by_path:
        selectors.append(f"the path {', '.join(config.args)}{_origin(config, config.args[0])}")
    for flag, name in (("-k", "keyword"), ("-m", "markexpr")):
        if value := getattr(config.option, name, ""):
            selectors.append(f"{flag} '{value}'{_origin(config, value)}")
    flags = {"deselect": "--deselect", "lf": "--last-failed", "stepwise": "--stepwise"}
    selectors += [flag for name, flag in flags.items() if getattr(config.option, name, None)]
    by = " and ".join(selectors or ["a conftest.py or a plugin"])
    return f"left out by {by}" + (f"; --pyargs {CHECKS} adds the shipped checks" if by_path else "")


def _origin(config: pytest.Config, text: str) -> str:
    """The origin of an argument that was not typed."""
    if any(text in str(typed) for typed in config.invocation_params.args):
        return ""
    if text in os.environ.get("PYTEST_ADDOPTS", ""):
        return " in PYTEST_ADDOPTS"
    return f" in {config.inipath.name}" if config.inipath else ""
