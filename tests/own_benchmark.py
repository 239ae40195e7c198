"""The benchmark of the recipe conftest_examples/own_benchmark, for tests in this process."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pytest_factorfair.benchmarks import AnyBenchmark

FOLDER = Path(__file__).parents[1] / "conftest_examples" / "own_benchmark"
HELLO = (FOLDER / "hello.yaml").read_text(encoding="utf-8")


def _benchmark() -> AnyBenchmark:
    spec = spec_from_file_location("own_benchmark_conftest", FOLDER / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    benchmarks: list[AnyBenchmark] = module.pytest_factorfair_benchmarks()
    return benchmarks[0]


GREETINGS = _benchmark()
