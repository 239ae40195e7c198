"""Without its option, the plugin does, writes and prints nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import Project, program

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


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    code = f"import sys, pytest_factorfair.plugin; print([name for name in {HEAVY!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


def test_a_plain_run_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys

        def test_modules():
            assert not [name for name in {HEAVY!r} if name in sys.modules]
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_a_plain_run_prints_and_writes_what_it_does_without_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass")

    def lines(*arguments: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert printed.stderr == ""
        return [line for line in printed.stdout.splitlines() if not line.startswith(("plugins:", "==="))]

    assert lines() == lines("-p", "no:factorfair")
    assert {path.name for path in tmp_path.iterdir()} <= {"test_nothing.py", "__pycache__"}


def test_a_test_that_wants_a_case_is_skipped_without_a_model(project: Project) -> None:
    project.pytester.makepyfile("def test_own(factorfair_case, factorfair_ask): raise AssertionError")
    result = project.run_pytest("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model: give --factorfair-model*"])


@pytest.mark.parametrize(("workers", "threshold"), [("-n0", 701), ("-n1", 0)])
def test_a_run_leaves_its_process_unchanged(project: Project, workers: str, threshold: int) -> None:
    """Garbage collector, signal handlers, import hooks and exit callbacks, during the run and after it.

    Workers are processes of their own, which do not see the host's garbage collector: each threshold comes once.
    """
    command = [sys.executable, "-c", WITHIN, workers, str(threshold), *project.arguments("sim:stereotyped")]
    printed = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True).stdout
    assert "as before: [True, True, True]\n" in printed
    assert "finders: ['_pytest.assertion.rewrite']\n" in printed
    assert "exit callbacks: []\n" in printed
