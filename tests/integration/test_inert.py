"""A guest in every pytest run: without its option the plugin does, writes and prints nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import Project

HEAVY = ("numpy", "scipy", "yaml", "pydantic", "sqlalchemy", "jinja2", "aiohttp", "litellm", "torch")

WITHIN = """
import gc, sys, pytest

class Plugin:
    def pytest_sessionfinish(self):
        print("during:", gc.get_freeze_count() > 0, gc.get_threshold()[0])

arguments = [sys.argv[1], "-s", "--factorfair-model=sim:stereotyped", "--factorfair-checklist=small.yaml"]
gc.set_threshold(int(sys.argv[2]), 11, 12)
assert pytest.main(arguments, plugins=[Plugin()]) == 0
print("after:", gc.get_freeze_count(), gc.get_threshold())
"""


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
    result = project.pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model: give --factorfair-model*"])


@pytest.mark.parametrize(("given", "during"), [(701, 10_000), (0, 0), (50_000, 50_000)])
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_what_was_kept_from_the_garbage_collector_is_its_own_again(
    project: Project, workers: str, given: int, during: int
) -> None:
    """Its threshold is only ever raised, and where it is off it stays so."""
    command = [sys.executable, "-c", WITHIN, workers, str(given)]
    printed = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True).stdout
    assert f"during: True {during}\n" in printed
    assert printed.endswith(f"after: 0 ({given}, 11, 12)\n")
