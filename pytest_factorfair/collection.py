"""Checklist cases as pytest items: the shipped checks, and the parametrization of every test that asks."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.keys import RUN

if TYPE_CHECKING:
    from pytest_factorfair.run import Assignment, Run

ASSIGNMENT = "factorfair_assignment"
"""The fixture every other one hangs on, and so the argument that is parametrized."""

CHECKS = "pytest_factorfair.checks.test_checklist"
CHECKS_FILE = Path(__file__).parent / "checks" / "test_checklist.py"
FILTERS = ("part", "context", "attribute", "statistic", "direction")


class Checks(pytest.Module):
    """The shipped checks, under a short node id, with the hooks and fixtures of the root conftest.

    Added to the session by hand: a path appended to the arguments is dropped when a virtual
    environment lies inside the project, and its items would not see the root conftest's hooks.
    """

    def _getobj(self) -> Any:
        return importlib.import_module(CHECKS)

    def funcnamefilter(self, name: str) -> bool:
        """Not the user's ``python_functions``: that ini is about the user's files."""
        return name.startswith("test_")

    @property
    def ihook(self) -> Any:
        return self.session.gethookproxy(self.config.rootpath)

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        for item in super().collect():
            item.path = self.config.rootpath
            yield item


def add_shipped_checks(session: pytest.Session, report: pytest.CollectReport) -> None:
    """Append the shipped checks, unless the command line names what to collect."""
    if session.config.args_source is not pytest.Config.ArgsSource.ARGS:
        report.result.append(Checks.from_parent(session, path=session.config.rootpath, nodeid="factorfair"))


def shipped_module(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """The shipped checks as ``--pyargs pytest_factorfair.checks`` finds them: same ids, same hooks."""
    if module_path == CHECKS_FILE:
        module: pytest.Module = Checks.from_parent(parent, path=module_path, nodeid="factorfair")
        return module
    return None


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One item per case and model; without a run, one that says why it is skipped."""
    run = metafunc.config.stash.get(RUN, None)
    if run is None:
        skip = pytest.mark.skip(reason="no model: give --factorfair-model")
        metafunc.parametrize(ASSIGNMENT, [pytest.param(None, id="no-model", marks=skip)])
        return
    params = [
        pytest.param(assignment, id=assignment.id, marks=_marks(run, assignment))
        for assignment in _selected(metafunc, run)
    ]
    metafunc.parametrize(ASSIGNMENT, params)


def _selected(metafunc: pytest.Metafunc, run: Run) -> Iterator[Assignment]:
    wanted: dict[str, set[str]] = {}
    for mark in metafunc.definition.iter_markers("factorfair"):
        for name, value in mark.kwargs.items():
            wanted[name] = {value} if isinstance(value, str) else set(value)
    for assignment in run.assignments:
        if all(_words(assignment)[name] & words for name, words in wanted.items() if name in FILTERS):
            yield assignment


def _words(assignment: Assignment) -> dict[str, set[str]]:
    case = assignment.case
    return {
        "part": {case.part},
        "context": {case.context} if case.context else set(),
        "attribute": set(case.attributes),
        "statistic": {case.statistic},
        "direction": {case.direction},
    }


def _marks(run: Run, assignment: Assignment) -> list[pytest.MarkDecorator]:
    case = assignment.case
    names = [case.part, *([case.context] if case.context else []), *case.attributes]
    return [getattr(pytest.mark, name) for name in names if name in run.markers]
