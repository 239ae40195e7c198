"""Only the main thread imports this package, and collecting and workers import little of it."""

from __future__ import annotations

import sys

import pytest

from tests.project import FEW_PORTRAITS, PYTEST, Project, program
from tests.servers import StubServer

BY_PROCESS = """
import os, sys
from pathlib import Path

def pytest_sessionfinish():
    Path("imported-by-" + os.environ.get("PYTEST_XDIST_WORKER", "controller")).write_text("\\n".join(sys.modules))
"""


def test_only_the_main_thread_imports_our_modules(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest rewrites them while it imports them, which CPython 3.11 survives in one thread at a time.

    With workers and a model of text: ``test_hostile``.
    """
    project.write("conftest.py", program("imports_in_threads"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
    result = project.pytester.run(
        sys.executable, *PYTEST, "-p", "no:xdist", "--factorfair-model=openai/gpt-image-1",
        "--factorfair-model=sim:stereotyped", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-preset=smoke", "--factorfair-samples=images=1", "--factorfair-detector=sim",
    )  # fmt: skip
    result.stdout.fnmatch_lines(["report: *"])
    assert (project.path / "imported-by-threads-of-controller").read_text() == ""


def imported(project: Project, process: str) -> set[str]:
    return set((project.path / f"imported-by-{process}").read_text(encoding="utf-8").split())


def test_a_worker_reads_no_files_and_imports_nothing_that_does(project: Project) -> None:
    """The worker is a new interpreter, where that of ``run`` is a fork."""
    project.write("conftest.py", BY_PROCESS)
    arguments = project.arguments("sim:stereotyped")
    assert project.pytester.runpytest_inprocess(*arguments, "-n1", "-k", "objective").ret == 0
    modules = imported(project, "gw0")
    assert "pytest_factorfair.benchmarks.fact_or_fair.asking.cases" in modules
    assert not modules & {"pydantic", "yaml", "numpy", "pytest_factorfair.checklist.loading"}


def test_collecting_imports_nothing_that_asks_stores_or_scores(project: Project) -> None:
    project.write("conftest.py", BY_PROCESS)
    project.run_anew("-p", "no:xdist", "--collect-only")
    modules = imported(project, "controller")
    assert "pytest_factorfair.checklist.loading" in modules
    assert modules & {"asyncio", "jinja2", "numpy", "sqlalchemy", "urllib.request"} == set()
