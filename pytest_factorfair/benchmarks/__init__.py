"""Look up benchmarks, read checklists, and expand these to cases and queries.

A benchmark is imported when a checklist, a metric or a report needs it, so that a run imports those of its
checklists. ``register`` adds a user's own benchmarks. Reading files imports pydantic and takes a sixth of a
second; a worker, which receives its checklists, skips that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.domain import MEMBERS, Case, Checklist, Query, Sampling, Score
from pytest_factorfair.errors import InputError, attributed

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.benchmark import Benchmark
    from pytest_factorfair.checklist import loading
    from pytest_factorfair.domain import ReportRows, Source

__all__ = [
    "AnyBenchmark",
    "benchmark_named",
    "benchmark_of",
    "benchmark_with",
    "benchmarks",
    "benchmarks_of",
    "cases",
    "lint",
    "load",
    "queries",
    "register",
    "shipped",
    "sources",
]

# Any: a checklist names its benchmark, which types cannot express.
AnyBenchmark: TypeAlias = "Benchmark[Any, Any, Any]"

SHIPPED = ("fact_or_fair", "faintbench", "items", "dofair", "canary")
"""The names of the shipped benchmarks, in the order of reports; each has a module ``NAME.benchmark``."""

SHIPPED_ROWS = ("topics", "dependences", "scans", "corrections", "prompts", "impact_ratios")
"""The names of the rows that these add to reports, in their order; every report has all, empty or not."""

_imported: dict[str, AnyBenchmark] = {}
_added: dict[str, AnyBenchmark] = {}


def names() -> tuple[str, ...]:
    """The names of the shipped benchmarks and those of the run."""
    return (*SHIPPED, *_added)


def benchmark_named(name: str) -> AnyBenchmark:
    """The benchmark of this name; a shipped one is imported."""
    if name in _added:
        return _added[name]
    if name not in _imported:
        _imported[name] = import_module(f"{__name__}.{name}.benchmark").BENCHMARK
    return _imported[name]


def benchmark_of(checklist: Checklist) -> AnyBenchmark:
    """The benchmark of a checklist."""
    return benchmark_named(checklist.protocol)


def benchmarks() -> Mapping[str, AnyBenchmark]:
    """The shipped benchmarks and those of the run, by name; all are imported."""
    return {name: benchmark_named(name) for name in names()}


def benchmark_with(metric: str) -> AnyBenchmark:
    """The benchmark whose reports have a metric; one without words if there is none, as nobody added it."""
    from pytest_factorfair.benchmarks.benchmark import UNKNOWN

    for benchmark in imported_first():
        if metric in benchmark.printed or metric in benchmark.further:
            return benchmark
    return UNKNOWN


def benchmarks_of(scores: Iterable[Score]) -> tuple[AnyBenchmark, ...]:
    """The benchmarks of the checklists of these scores, in the order of reports.

    All benchmarks if no score tells, as rates of lost answers do not: what else is reported may be of any.
    """
    from pytest_factorfair.benchmarks.metric import with_variants
    from pytest_factorfair.benchmarks.rates import Rate

    owners, metrics = set[str](), dict[str, set[str]]()
    for score in scores:
        metrics.setdefault(score.checklist, set()).add(score.metric)
    for benchmark in imported_first() if metrics else ():
        telling = {
            name for name, metric in with_variants(benchmark.metrics).items() if not isinstance(metric, Rate)
        }
        for checklist in [checklist for checklist in metrics if metrics[checklist] & telling]:
            owners.add(benchmark.name)
            del metrics[checklist]
        if not metrics:
            break
    return tuple(benchmark_named(name) for name in names() if name in owners or not owners)


def rows_named(name: str) -> ReportRows[Any] | None:
    """The rows that a benchmark adds to reports under this name; None if there are none."""
    return next(
        (rows for benchmark in imported_first() for rows in benchmark.rows if rows.name == name), None
    )


def imported_first() -> Iterator[AnyBenchmark]:
    """All benchmarks, those first that are imported: a search for a metric of the run imports no other."""
    return map(benchmark_named, sorted(names(), key=lambda name: name in SHIPPED and name not in _imported))


def register(added: Iterable[AnyBenchmark], *, compare_metrics: bool = True, nested: bool = False) -> None:
    """Add a run's own benchmarks to the shipped ones, in place of those of a former run.

    A worker need not ``compare_metrics``, which imports all benchmarks: the controller has done so. A
    ``nested`` run, such as ``run()`` in a test, leaves those of other names registered: the run around it
    needs them.

    Raises:
        InputError: something is no benchmark, or another one has its name or a metric of this name.
    """
    global _added  # noqa: PLW0603  # replaced as a whole, as other threads may read it
    if not isinstance(added, Iterable):
        raise InputError(f"benchmarks: expected a list, got {added!r}")
    by_name: dict[str, AnyBenchmark] = {}
    for benchmark in added:
        check_kind(benchmark, "benchmarks")
        if benchmark.name in (*SHIPPED, *by_name):
            raise InputError(f"benchmark '{benchmark.name}': there is one of this name; choose another")
        if compare_metrics:
            _check_values(benchmark)
            for other in (*map(benchmark_named, SHIPPED), *by_name.values()):
                _compare_metrics(benchmark, other)
                _compare_rows(benchmark, other)
        by_name[benchmark.name] = _attributing(benchmark)
    _added = _added | by_name if nested else by_name


PRINTING = (
    "heading", "label", "size", "headlines", "brief", "tables", "supplements", "warnings", "declining",
    "quotations", "paper_tables", "figures", "charts", "over_time", "page", "reply_place", "reply_conditions",
    "on_card", "right_answers", "true_groups", "limits", "reading",
)  # fmt: skip
"""Methods that reports call, from many places; other methods are attributed where they are called."""


def _attributing(benchmark: AnyBenchmark) -> AnyBenchmark:
    """A copy of a user's benchmark; exceptions that its reports meet name it, the method and its line."""

    def attributing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*arguments: Any, **named: Any) -> Any:
            with attributed(f"{name} of benchmark '{benchmark.name}'"):
                result = method(*arguments, **named)
                return tuple(result) if isinstance(result, Iterator) else result

        return call

    attributed_copy = copy(benchmark)
    for name in PRINTING:
        setattr(attributed_copy, name, attributing(name, getattr(attributed_copy, name)))
    return attributed_copy


def check_kind(benchmark: object, where: str) -> None:
    """Refuse what is no benchmark; ``where`` says who added it.

    Raises:
        InputError: it is a class, of another class, or has no name.
    """
    from pytest_factorfair.benchmarks.benchmark import Benchmark

    if isinstance(benchmark, type):
        raise InputError(f"{where}: benchmark {benchmark.__name__}: give an object, {benchmark.__name__}()")
    if not isinstance(benchmark, Benchmark):
        raise InputError(f"{where}: {benchmark!r} is not a benchmark: derive its class from Benchmark")
    if not isinstance(getattr(benchmark, "name", None), str):
        raise InputError(f"{where}: benchmark {type(benchmark).__name__} has no name")


def _check_values(benchmark: AnyBenchmark) -> None:
    """Refuse counts and rows that cannot be written, which happens when everything has been paid for.

    Raises:
        InputError: a class has fields that JSON cannot hold, or rows are no dataclass that names a model.
    """
    from pytest_factorfair.benchmarks.measuring import plain_values

    if benchmark.counts:
        plain_values(benchmark.counts, benchmark.name)
    for rows in benchmark.rows:
        subject = f"rows '{rows.name}'"
        plain_values(rows.row, benchmark.name, subject)
        needed = dict.fromkeys(("model", *rows.key))
        present = {field.name for field in fields(rows.row)} if is_dataclass(rows.row) else set()
        if not needed.keys() <= present:
            expected = f"expected a dataclass with the fields {', '.join(needed)}"
            raise InputError(f"benchmark '{benchmark.name}': {subject}: {expected}")


def _compare_metrics(benchmark: AnyBenchmark, other: AnyBenchmark) -> None:
    """Refuse two metrics of one name, unless both are rates of lost answers.

    Raises:
        InputError: both benchmarks have a metric of one name.
    """
    from pytest_factorfair.benchmarks.rates import Rate

    for name, metric in benchmark.metrics.items():
        former = other.metrics.get(name, metric)
        if former is not metric and not (isinstance(metric, Rate) and isinstance(former, Rate)):
            raise InputError(
                f"benchmark '{benchmark.name}': metric '{name}' is one of '{other.name}'; choose another name"
            )


def _compare_rows(benchmark: AnyBenchmark, other: AnyBenchmark) -> None:
    """Refuse rows under a name that reports have for others.

    Raises:
        InputError: something else in a report, or the other benchmark's rows, has the name.
    """
    names = {rows.name: rows.row for rows in other.rows}
    for rows in benchmark.rows:
        if rows.name in MEMBERS or names.get(rows.name, rows.row) is not rows.row:
            raise InputError(
                f"benchmark '{benchmark.name}': rows '{rows.name}': reports have others of this name; "
                "choose another"
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
    with attributed(f"the cases of checklist '{checklist.name}'"):
        return benchmark_of(checklist).cases(checklist, sampling)


def queries(checklist: Checklist, case: Case, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    with attributed(f"the queries of case '{case.id}' of checklist '{checklist.name}'"):
        return benchmark_of(checklist).queries(checklist, case, sampling)


def _files() -> loading.FilesByBenchmark:
    return {name: partial(_files_of, name) for name in names()}


def _files_of(name: str) -> loading.Files[Any, Any]:
    benchmark = benchmark_named(name)
    with attributed(f"the files of benchmark '{name}'"):
        return benchmark.files()
