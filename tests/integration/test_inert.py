"""Without its option, the plugin does, writes and prints nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import forkserver
from tests.project import PYTEST, Project, program

HEAVY = (
    "numpy",
    "scipy",
    "yaml",
    "pydantic",
    "sqlalchemy",
    "jinja2",
    "aiohttp",
    "litellm",
    "torch",
    "obstore",
)

WITHIN = program("pytest_within")


def test_a_plain_run_imports_nothing_heavy_and_does_what_it_does_without_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_modules.py").write_text(
        f"import sys\n\ndef test_modules(): assert not [name for name in {HEAVY!r} if name in sys.modules]\n"
    )

    def lines(*arguments: str) -> list[str]:
        command = [sys.executable, *PYTEST, "-v", "-p", "no:cacheprovider", *arguments]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert printed.stderr == ""
        return [line for line in printed.stdout.splitlines() if not line.startswith(("plugins:", "==="))]

    assert lines() == lines("-p", "no:factorfair")
    assert {path.name for path in tmp_path.iterdir()} <= {"test_modules.py", "__pycache__"}


def test_a_test_that_wants_a_case_is_skipped_without_a_model(project: Project) -> None:
    project.pytester.makepyfile("def test_own(factorfair_case, factorfair_ask): raise AssertionError")
    result = project.run_pytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model: give --factorfair-model*"])


@pytest.mark.parametrize(("workers", "threshold"), [("-n0", 701), ("-n1", 0)])
def test_a_run_leaves_its_process_unchanged(project: Project, workers: str, threshold: int) -> None:
    """Garbage collector, signal handlers, import hooks and exit callbacks, during the run and after it.

    Workers are processes of their own, which do not see the host's garbage collector: each threshold comes once.
    Callbacks are registered by imports, of which a run without workers has all: the other is a fork.
    """
    python = sys.executable if workers == "-n0" else forkserver.python()
    command = [python, "-c", WITHIN, workers, str(threshold), *project.arguments("sim:stereotyped")]
    printed = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True).stdout
    assert "as before: [True, True, True]\n" in printed
    assert "finders: ['_pytest.assertion.rewrite']\n" in printed
    assert "exit callbacks: []\n" in printed
