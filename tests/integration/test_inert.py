"""A guest in every pytest run: without its option the plugin does, writes and prints nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project import Project

HEAVY = ("numpy", "scipy", "yaml", "pydantic", "sqlalchemy", "jinja2", "aiohttp", "litellm", "torch")


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


def test_a_plain_run_prints_and_writes_what_it_does_without_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    before = {path.name for path in pytester.path.iterdir()}
    quiet = ("-p", "no:cacheprovider", "-p", "no:randomly")

    def lines(*arguments: str) -> list[str]:
        printed = pytester.runpytest_subprocess(*quiet, *arguments).outlines
        return [line for line in printed if not line.startswith(("plugins:", "=", "rootdir"))]

    assert lines() == lines("-p", "no:factorfair")
    left = {path.name for path in pytester.path.iterdir()} - before - {"__pycache__"}
    assert left == set()


def test_a_test_that_wants_a_case_is_skipped_without_a_model(project: Project) -> None:
    project.pytester.makepyfile("def test_own(factorfair_case, factorfair_ask): raise AssertionError")
    result = project.pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model: give --factorfair-model*"])
