"""Look up benchmarks, read checklists, and expand these to cases and queries.

``register`` adds a user's own benchmarks. Reading files imports pydantic and takes a sixth of a second; a
worker, which receives its checklists, skips that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_factorfair.benchmarks.asking import Asking
from pytest_factorfair.benchmarks.dofair import DofairAsking
from pytest_factorfair.benchmarks.fact_or_fair import FactOrFairAsking
from pytest_factorfair.benchmarks.faintbench import FaintbenchAsking
from pytest_factorfair.benchmarks.items import ItemsAsking
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.domain import Case, Checklist, Query, Sampling
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.reporting import Reporting
    from pytest_factorfair.checklist import loading
    from pytest_factorfair.domain import Source

__all__ = [
    "AnyBenchmark",
    "benchmark_of",
    "benchmarks",
    "cases",
    "lint",
    "load",
    "queries",
    "register",
    "reporting_of",
    "reportings",
    "shipped",
    "sources",
]

# Any: a checklist names its benchmark, which types cannot express.
AnyBenchmark: TypeAlias = "Asking[Any, Any]"

_SHIPPED: Mapping[str, AnyBenchmark] = {
    benchmark.name: benchmark
    for benchmark in (FactOrFairAsking(), FaintbenchAsking(), ItemsAsking(), DofairAsking())
}
_registered: dict[str, AnyBenchmark] = dict(_SHIPPED)


def benchmarks() -> Mapping[str, AnyBenchmark]:
    """The shipped benchmarks and those of the run, by name."""
    return _registered


def benchmark_of(checklist: Checklist) -> AnyBenchmark:
    """The benchmark of a checklist."""
    return _registered[checklist.protocol]


def register(added: Iterable[AnyBenchmark], *, compare_metrics: bool = True, nested: bool = False) -> None:
    """Add a run's own benchmarks to the shipped ones, in place of those of a former run.

    A worker need not ``compare_metrics``, which imports numpy: the controller has done so. A ``nested`` run,
    such as ``run()`` in a test, leaves those of other names registered: the run around it needs them.

    Raises:
        InputError: something is no benchmark, or another one has its name or a metric of this name.
    """
    global _registered  # noqa: PLW0603  # replaced as a whole, as other threads may read it
    if not isinstance(added, Iterable):
        raise InputError(f"benchmarks: expected a list, got {added!r}")
    by_name, own_benchmarks = dict(_SHIPPED), list(added)
    for benchmark in own_benchmarks:
        if isinstance(benchmark, type):
            raise InputError(f"benchmark {benchmark.__name__}: give an object, {benchmark.__name__}()")
        if not isinstance(benchmark, Asking):
            raise InputError(f"{benchmark!r} is not a benchmark: derive its class from Benchmark")
        if not hasattr(benchmark, "name"):
            raise InputError(f"benchmark {type(benchmark).__name__} has no name")
        if benchmark.name in by_name:
            raise InputError(f"benchmark '{benchmark.name}': there is one of this name; choose another")
        for registered in by_name.values() if compare_metrics else ():
            _compare_metrics(benchmark, registered)
        by_name[benchmark.name] = benchmark
    _registered = (dict(_registered) | by_name) if nested else by_name


def _compare_metrics(benchmark: AnyBenchmark, registered: AnyBenchmark) -> None:
    """Refuse two metrics of one name, unless both are rates of lost answers.

    Raises:
        InputError: both benchmarks have a metric of one name.
    """
    from pytest_factorfair.benchmarks.rates import Rate

    registered_metrics = registered.measuring.metrics
    for name, metric in benchmark.measuring.metrics.items():
        former = registered_metrics.get(name, metric)
        if former is not metric and not (isinstance(metric, Rate) and isinstance(former, Rate)):
            raise InputError(
                f"benchmark '{benchmark.name}': metric '{name}' is one of '{registered.name}'; "
                "choose another name"
            )


def load(name_or_path: str, *, truth: str, base: Path, tiny: bool = False) -> Checklist:
    """The checklist of a shipped name or a path (relative to ``base``) under one truth set.

    A ``tiny`` one is reduced to a first look, under a name of its own.

    Raises:
        ChecklistError: a file cannot be read or has invalid content; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    from pytest_factorfair.checklist import loading

    return loading.load(name_or_path, _files(), truth=truth, base=base, tiny=tiny)


def size(name_or_path: str, *, base: Path) -> int:
    """The size in bytes of the lists that a checklist reads; see ``load``.

    Raises:
        InputError: there is no such checklist, or a file cannot be read.
    """
    from pytest_factorfair.checklist.locate import locate
    from pytest_factorfair.checklist.overlay import size

    return size(locate(name_or_path, relative_to=Path(), base=base), base)


def lint(name_or_path: str, *, base: Path) -> tuple[str, ...]:
    """Return the findings, each ``file:line: field: problem``, in the order of the file.

    Raises:
        InputError: the checklist is invalid, as in ``load``.
    """
    from pytest_factorfair.checklist import loading

    return loading.lint(name_or_path, _files(), base=base)


def sources(name: str, content: str) -> tuple[Source, ...]:
    """The sources of the shipped checklist with this content hash; empty for other checklists."""
    from pytest_factorfair.checklist import loading

    if name not in shipped():
        return ()
    files, _, file = loading.parse(name, _files(), base=Path())
    return files.sources(file, content)


def cases(checklist: Checklist, sampling: Sampling) -> tuple[Case, ...]:
    """The cases in the order of the checklist."""
    return benchmark_of(checklist).cases(checklist, sampling)


def queries(checklist: Checklist, case: Case, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    return benchmark_of(checklist).queries(checklist, case, sampling)


def reportings() -> tuple[Reporting, ...]:
    """The reporting parts of all benchmarks."""
    return tuple(benchmark.reporting for benchmark in _registered.values())


def reporting_of(metric: str) -> Reporting:
    """The reporting part of the benchmark that has this metric."""
    from pytest_factorfair.benchmarks.reporting import NOTHING

    owners = (owner for owner in reportings() if metric in owner.printed or metric in owner.further)
    return next(owners, NOTHING)


def _files() -> loading.FilesByBenchmark:
    return {name: benchmark.files for name, benchmark in _registered.items()}
