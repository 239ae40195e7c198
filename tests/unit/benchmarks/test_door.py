"""The public module of benchmarks, from which users' own import everything."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_factorfair import benchmark
from pytest_factorfair.benchmark import Component, Group

ROOT = Path(__file__).parents[3]


def test_its_examples_run() -> None:
    results = doctest.testmod(benchmark)
    assert results.attempted > 10
    assert results.failed == 0


def test_its_names_exist_in_order() -> None:
    assert benchmark.__all__ == sorted(benchmark.__all__)
    assert all(hasattr(benchmark, name) for name in benchmark.__all__)


@pytest.mark.parametrize("page", ["conftest_examples/own_benchmark/conftest.py", "docs/own_benchmark.md"])
def test_the_recipe_and_its_page_import_nothing_else(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "pytest_factorfair.benchmark" in text
    assert set(re.findall(r"pytest_factorfair\.\w+", text)) == {"pytest_factorfair.benchmark"}


def test_it_imports_nothing_that_asks_stores_or_draws_pages() -> None:
    """It needs numpy to count and pydantic to read files."""
    code = "import sys, pytest_factorfair.benchmark; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = set(done.stdout.split())
    assert modules & {"asyncio", "jinja2", "pytest", "scipy", "sqlalchemy"} == set()
    rooms = {name.split(".")[1] for name in modules if name.startswith("pytest_factorfair.")}
    assert rooms & {"engine", "gates", "models", "plugin", "reports", "runs", "store"} == set()
    shipped = ("dofair", "fact_or_fair", "faintbench", "items")
    assert not [
        name
        for name in modules
        if name.startswith(tuple(f"pytest_factorfair.benchmarks.{n}" for n in shipped))
    ]


def test_a_component_says_how_many_of_its_answers_are_lost() -> None:
    """There is no default: none lost is a claim."""
    assert "lost" not in Component._field_defaults


def test_a_group_needs_only_its_word() -> None:
    """Type checkers agree, which check this file."""
    assert Group(word="tall").aliases == []
