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


@pytest.mark.parametrize(("workers", "process"), [("-pno:xdist", "controller"), ("-n1", "gw0")])
def test_only_the_main_thread_imports_our_modules(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, workers: str, process: str
) -> None:
    """pytest rewrites them while it imports them, which CPython 3.11 survives in one thread at a time.

    With workers and a model of text: ``test_hostile``.
    """
    project.write("conftest.py", program("imports_in_threads"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
    result = project.pytester.run(
        sys.executable, *PYTEST, workers, "--factorfair-model=openai/gpt-image-1",
        "--factorfair-model=sim:stereotyped", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-preset=smoke", "--factorfair-samples=images=1", "--factorfair-detector=sim",
    )  # fmt: skip
    result.stdout.fnmatch_lines(["report: *"])
    assert (project.path / f"imported-by-threads-of-{process}").read_text() == ""


def imported(project: Project, process: str) -> set[str]:
    return set((project.path / f"imported-by-{process}").read_text(encoding="utf-8").split())


WINGS = {
    "the other benchmarks": (
        "pytest_factorfair.benchmarks.dofair",
        "pytest_factorfair.benchmarks.faintbench",
        "pytest_factorfair.benchmarks.items",
    ),
    "batches, Ray and local models": (
        "pytest_factorfair.batches",
        "pytest_factorfair.ray",
        "pytest_factorfair.local",
        "pytest_factorfair.models.callable",
        "pytest_factorfair.models.litellm_catalogue",
    ),
    "pictures and labels": (
        "pytest_factorfair.detection",
        "pytest_factorfair.labelling",
        "pytest_factorfair.pictures.",
    ),
    "comparisons and exports": (
        "pytest_factorfair.exports",
        "pytest_factorfair.gates.comparison",
    ),
    "a bucket, and a user's language": (
        "pytest_factorfair.store.durable.bucket",
        "pytest_factorfair.checklist.language_file",
    ),
    "the parser, as all replies are exactly as requested": ("pytest_factorfair.reading.text",),
    "what stores of other runs have": (
        "pytest_factorfair.store.batches",
        "pytest_factorfair.store.detections",
        "pytest_factorfair.store.durable.rescued",
        "pytest_factorfair.store.pictures",
    ),
    "plans, baselines, reasons and shards": (
        "pytest_factorfair.plugin.plan",
        "pytest_factorfair.runs.baseline",
        "pytest_factorfair.runs.planning.plan",
        "pytest_factorfair.runs.reasons",
        "pytest_factorfair.runs.shards",
        "pytest_factorfair.runs.stored",
    ),
}
"""What a run of text on FACT-OR-FAIR does not need, as the beginnings of names of modules."""


def test_a_run_imports_what_it_needs(project: Project) -> None:
    """Gates, looks and reports included, in new interpreters: one that judges and one that asks."""
    project.write("conftest.py", BY_PROCESS)
    result = project.run_anew(
        "-n1", "--factorfair-gate=default", "--factorfair-gate=refusal_rate <= 0.5", "FACTORFAIR_LOOKS=2"
    )
    result.stdout.fnmatch_lines(["report: *", "release: *"])
    for process in ("controller", "gw0"):
        modules = imported(project, process)
        assert "pytest_factorfair.benchmarks.fact_or_fair.benchmark" in modules
        wings = {wing: [name for name in modules if name.startswith(parts)] for wing, parts in WINGS.items()}
        assert wings == {wing: [] for wing in WINGS}, process


def test_a_run_without_workers_imports_nothing_of_theirs(project: Project) -> None:
    project.write("conftest.py", BY_PROCESS)
    project.run_anew("--factorfair-gate=default")
    modules = imported(project, "controller")
    assert "pytest_factorfair.runs.conclusion" in modules
    theirs = ("plugin.xdist", "runs.transport", "store.sharing.limits", "store.sharing.shards")
    assert not modules & {f"pytest_factorfair.{name}" for name in theirs}


def test_a_worker_reads_no_files_and_imports_nothing_that_does(project: Project) -> None:
    """It imports numpy with the benchmark, whose one class also counts. It is a new interpreter, not a fork."""
    project.write("conftest.py", BY_PROCESS)
    arguments = project.arguments("sim:stereotyped")
    assert project.pytester.runpytest_inprocess(*arguments, "-n1", "-k", "objective").ret == 0
    modules = imported(project, "gw0")
    assert "pytest_factorfair.benchmarks.fact_or_fair.asking.cases" in modules
    assert not modules & {"pydantic", "yaml", "pytest_factorfair.checklist.loading"}


def test_collecting_imports_nothing_that_asks_stores_or_judges(project: Project) -> None:
    project.write("conftest.py", BY_PROCESS)
    project.run_anew("-p", "no:xdist", "--collect-only")
    modules = imported(project, "controller")
    assert "pytest_factorfair.checklist.loading" in modules
    assert modules & {"asyncio", "jinja2", "scipy", "sqlalchemy", "urllib.request"} == set()
    assert not [
        name for name in modules if name.startswith(("pytest_factorfair.gates", "pytest_factorfair.reports."))
    ]
