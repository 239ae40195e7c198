"""During a run this package's modules are imported as any other, so that two threads may do so at once."""

from __future__ import annotations

import subprocess
import sys

from tests.project import Project

LOADED = """
import sys

def pytest_sessionfinish():
    mine = {name: module for name, module in sys.modules.items() if name.startswith("pytest_factorfair.")}
    print("rewritten:", *(name for name, module in mine.items() if "Assert" in repr(module.__loader__)))
"""
BEFORE_THE_RUN = {"collection", "errors", "fixtures", "hookspecs", "imports", "keys", "options", "plugin"}

FINDERS = """
import sys, pytest
before = list(sys.meta_path)
assert pytest.main(["--co", "-q", "--factorfair-model=sim:stereotyped", "--factorfair-checklist=small.yaml"]) == 0
print("left:", [finder for finder in sys.meta_path if finder not in before])
"""

IN_WORKERS = """
import sys
from pathlib import Path

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        Path("imported").write_text("\\n".join(sys.modules))
"""


def test_pytest_rewrites_nothing_that_is_imported_once_a_run_has_begun(project: Project) -> None:
    project.write("conftest.py", LOADED)
    result = project.run("-s", "-p", "no:xdist")
    (line,) = (line for line in result.outlines if "rewritten:" in line)
    names = line.partition("rewritten:")[2].split()
    assert {name.removeprefix("pytest_factorfair.") for name in names} == BEFORE_THE_RUN


def test_what_imports_them_is_gone_after_the_run(project: Project) -> None:
    command = [sys.executable, "-c", FINDERS]
    printed = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True).stdout
    assert "pytest_factorfair" not in printed.partition("left:")[2]


def test_a_worker_reads_no_files_and_imports_nothing_that_does(project: Project) -> None:
    project.write("conftest.py", IN_WORKERS)
    project.run("-n1")
    imported = set((project.path / "imported").read_text(encoding="utf-8").split())
    assert "pytest_factorfair.checklist.fact_or_fair.expand" in imported
    assert not imported & {"pydantic", "yaml", "numpy", "pytest_factorfair.checklist.loading"}
