"""Only the main thread imports this package, and collecting and workers import little of it."""

from __future__ import annotations

import sys

import pytest

from tests.project import FEW_PORTRAITS, PYTEST, Project, program
from tests.servers import StubServer

IN_OTHER_THREADS = program("imports_in_threads")

BY_PROCESS = """
import os, sys
from pathlib import Path

def pytest_sessionfinish():
    Path("imported-by-" + os.environ.get("PYTEST_XDIST_WORKER", "controller")).write_text("\\n".join(sys.modules))
"""


@pytest.mark.parametrize(
    ("models", "checklist"),
    [(("hosted_vllm/m",), "small.yaml"), (("openai/gpt-image-1", "sim:stereotyped"), str(FEW_PORTRAITS))],
    ids=["text", "pictures"],
)
def test_only_the_main_thread_imports_our_modules(
    project: Project,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    models: tuple[str, ...],
    checklist: str,
) -> None:
    """pytest rewrites them while it imports them, which CPython 3.11 survives in one thread at a time."""
    project.write("conftest.py", IN_OTHER_THREADS)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", stub.base_url)
    size = ["--factorfair-preset=smoke", "--factorfair-samples=6,objective=2,images=1"]
    options = [
        *(f"--factorfair-model={model}" for model in models),
        f"--factorfair-checklist={checklist}",
        *size,
    ]
    detector = ["--factorfair-detector=sim"] if checklist == str(FEW_PORTRAITS) else []
    arguments = ("-s", "-p", "no:xdist", *options, *detector)
    result = project.pytester.run(sys.executable, *PYTEST, *arguments)
    result.stdout.fnmatch_lines(["*imported by other threads: [[]]*"])
    result.stdout.fnmatch_lines(["report: *"])


def imported(project: Project, process: str) -> set[str]:
    return set((project.path / f"imported-by-{process}").read_text(encoding="utf-8").split())


def test_a_worker_reads_no_files_and_imports_nothing_that_does(project: Project) -> None:
    project.write("conftest.py", BY_PROCESS)
    project.run_anew("-n1", "-k", "objective")
    modules = imported(project, "gw0")
    assert "pytest_factorfair.protocols.fact_or_fair.asking.cases" in modules
    assert not modules & {"pydantic", "yaml", "numpy", "pytest_factorfair.checklist.loading"}


def test_collecting_imports_nothing_that_asks_stores_or_scores(project: Project) -> None:
    project.write("conftest.py", BY_PROCESS)
    project.run_anew("-p", "no:xdist", "--collect-only")
    modules = imported(project, "controller")
    assert "pytest_factorfair.checklist.loading" in modules
    assert modules & {"asyncio", "jinja2", "numpy", "sqlalchemy", "urllib.request"} == set()
