from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module

import pytest

from tests.project import DISTRIBUTIONS, Project

# Pytester forgets what a test imported, and neither compiled modules nor our rooms can be imported twice.
for imported in (
    "numpy",
    "pydantic",
    "sqlalchemy",
    "pytest_factorfair.session.baseline",
    "pytest_factorfair.checklist",
):
    import_module(imported)

# litellm imports this backport, which replaces the standard finder of distributions. Pytester forgets
# its replacement after the run, and no distribution would be found from then on.
with suppress(ImportError):
    import_module("importlib_metadata")

pytest_plugins = ["pytester", "tests.browser", "tests.finished", "tests.servers"]


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's shell or the CI job exports must not reach the runs under test."""
    for name in os.environ:
        if name.startswith(("FACTORFAIR_", "GITHUB_", "OPENAI_", "PYTEST_ADDOPTS", "PYTEST_XDIST")):
            monkeypatch.delenv(name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


@pytest.fixture(params=DISTRIBUTIONS, ids=["n0", "n2", "no-xdist"])
def dist(request: pytest.FixtureRequest) -> tuple[str, ...]:
    arguments: tuple[str, ...] = request.param
    return arguments


if os.environ.get("NO_SKIPPED_TESTS"):

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """In CI what a test needs is installed, so a skip is a failure."""
        report = yield
        if report.skipped and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"
        return report
