"""A run from Python, without pytest: ``from pytest_factorfair import run``."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks import register
from pytest_factorfair.config.options import MODEL, OPTIONS
from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.errors import FactorfairError, InputError, StoreError, nearest
from pytest_factorfair.models.callable import coerce
from pytest_factorfair.redaction import redacted
from pytest_factorfair.reports.notebook import Report
from pytest_factorfair.runs import extensions
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.driver import Driver
from pytest_factorfair.runs.execution import Execution
from pytest_factorfair.runs.progress import Meter, Progress

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks import AnyBenchmark
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.domain import Query, Reading, Record, Response, Summary
    from pytest_factorfair.models import Factory as ModelFactory

SHOWN_EVERY = 1.0
"""Seconds between two calls of the user's ``progress``."""

BAR, LINE = 20, 120
"""Characters of the progress bar, and of its whole line."""


def run(
    model: object,
    *,
    detector: object = None,
    benchmarks: Iterable[AnyBenchmark] | None = None,
    read_answer: Callable[[Response, Query], object] | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
    root: str | os.PathLike[str] = ".",
    **settings: object,
) -> Report:
    """Run checklists on a model without pytest; the results are those of ``pytest --factorfair-model=...``.

    The call blocks until all answers have arrived, even inside a running event loop, as in a notebook. It
    writes reports and stores responses like a pytest run, and both can share a store. It returns the report,
    which a notebook displays, as ``load_report`` does. Failed gates raise no exception: check
    ``summary.release`` of the report.

    Args:
        model: a spec, as on the command line; a model or a function from prompt to reply; a list of these; or
            a mapping from the names to show to models or functions.
        detector: for pictures, a spec or a detector of your own.
        benchmarks: your own, as the hook ``pytest_factorfair_benchmarks`` returns them.
        read_answer: reads a reply before the built-in reader does: from a ``Response`` and its ``Query`` to a
            ``Reading``, or None to leave it to the built-in one.
        progress: called about once a second, and at the end, with a ``Progress``, which prints as one line.
            True shows a bar, False nothing; by default there is a bar in a notebook and on a terminal.
        root: the project's folder: its ``pyproject.toml`` is read, and ``.factorfair`` is made in it.
        settings: as the keys of ``[tool.factorfair]`` in pyproject.toml. They take precedence over the
            environment and pyproject.toml.

    Raises:
        InputError: a setting, checklist, model or gate is wrong; nothing was asked.
        BudgetError: a limit of the run is used up. This error and the following ones are raised after a
            partial report is written; answers are in the store, and the next run continues from there.
        FatalModelError: no further call can succeed.
        DetectorError: the detector cannot read pictures.
        PendingError: answers are in batches that are not done; call ``run`` again later.
        StoreError: the store cannot be opened, read or written, or reports cannot be written.
    """
    working_folder, project = Path.cwd(), Path(root).resolve()
    models = [] if model is None else _named(model)
    if not models:
        raise InputError(f"run(model): expected a spec, a model or a function of the prompt, got {model!r}")
    show = _shown(progress=progress)
    for name, function in (("read_answer", read_answer), ("progress", show)):
        if function is not None and not callable(function):
            raise InputError(f"run({name}=...): expected a function, got {function!r}")
    typed = {
        "model": OptionValue([name for name, _ in models], "run(model)", working_folder),
        **_typed(settings, working_folder),
    }
    detectors = [] if detector is None else _named(detector)
    if detector is not None:
        if len(detectors) != 1:
            raise InputError(f"run(detector=...): expected one spec or detector, got {detector!r}")
        typed["detector"] = OptionValue(detectors[0][0], "run(detector=...)", working_folder)
    try:
        installed = tuple(extensions.installed())
        register(extensions.benchmarks(extensions.hooks(installed, extensions.BENCHMARKS)), nested=True)
        if benchmarks is not None:
            register(benchmarks, nested=True)
        resolved = resolve(typed, os.environ, root=project, here=working_folder)
        if resolved.plan:
            raise InputError(f"{resolved.where('plan')}: run() asks the model; plan with pytest")
        composed = compose(
            resolved,
            extensions.factories(extensions.hooks(installed, extensions.MODELS))
            | {name: _model_factory(model) for name, model in models if model is not None},
            extensions.factories(extensions.hooks(installed, extensions.DETECTORS))
            | {name: _detector_factory(detector) for name, detector in detectors if detector is not None},
        )
        read = None if read_answer is None else partial(_read, read_answer)
        with closing(Execution(composed, read=read)) as execution, execution.cancellable():
            return Report(_concluded(execution, show), Path(resolved.report))
    except FactorfairError as error:
        error.args = (_in_python(redacted(str(error))),)
        raise


def _read(
    read_answer: Callable[[Response, Query], object], response: Response, query: Query
) -> Reading | None:
    """The reading of the user's function, checked."""
    from pytest_factorfair.runs.answering import checked

    return checked(read_answer(response, query), query, "run(read_answer=...)")


def _shown(*, progress: Callable[[Progress], object] | bool | None) -> Callable[[Progress], object] | None:
    """The function that shows the progress of a run; None if nothing does."""
    if progress is None:
        ipython = sys.modules.get("IPython")
        in_notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
        progress = in_notebook or (sys.stderr is not None and sys.stderr.isatty())
    if isinstance(progress, bool):
        return bar if progress else None
    return progress


def _typed(settings: Mapping[str, object], working_folder: Path) -> dict[str, OptionValue]:
    """The settings of a call by option name; tuples become lists, and paths become text."""
    names_by_key = {option.key: option.name for option in OPTIONS if option is not MODEL}
    given_options = {}
    for key, value in settings.items():
        where = f"run({key}=...)"
        if key not in names_by_key:
            raise InputError(f"{where}: there is no such setting{nearest(key, names_by_key)}")
        plain = list(value) if isinstance(value, tuple) else value
        if plain is not None:
            text = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
            given_options[names_by_key[key]] = OptionValue(text, where, working_folder)
    return given_options


def _concluded(execution: Execution, show: Callable[[Progress], object] | None) -> Summary:
    """Ask every case, conclude, and return the summary."""
    meter = Callback(execution, show)
    driver = Driver(execution, meter)
    driver.select(execution.run.to_ask)
    driver.check()
    driver.begin()
    failure: BaseException | None = None
    try:
        with driver.asking(telling=(KeyboardInterrupt, FactorfairError)):
            driver.ask()
        failure = driver.pending
    except BaseException as error:
        failure = error
        raise
    finally:
        result = driver.conclude()
        if failure is not None:
            if result.written:
                failure.add_note(f"partial report: {', '.join(result.written)}")
            if result.rescued:
                failure.add_note(result.rescued)
    if failure is not None:
        raise failure
    if trouble := execution.responses.trouble:
        raise StoreError("; ".join(filter(None, (trouble, result.rescued))))
    if result.unwritten:
        raise StoreError(f"{result.unwritten}; the answers are in the store")
    for logged in result.logged:
        if logged.failed:
            warnings.warn(str(logged), stacklevel=3)
    meter.show()
    return _worded(result.summary)


def _worded(summary: Summary) -> Summary:
    """The summary with the settings of ``run`` in its advice, not the options of the command line."""
    if (release := summary.release) is None:
        return summary
    advice, next_step, look = map(_in_python, (release.advice, release.next_step, release.look))
    return replace(summary, release=replace(release, advice=advice, next_step=next_step, look=look))


OPTION = re.compile(r"(?:--factorfair-([a-z-]*[a-z])|(?<=\s)run\((\w+)=\.\.\.\))(?:=([\w.:/=,]*\w))?")
"""An option of the command line, or a setting of ``run`` in a sentence, with its value if there is one."""


def _in_python(text: str) -> str:
    """The text with options as the settings of ``run``: ``samples=72`` for ``--factorfair-samples=72``."""

    def setting(option: re.Match[str]) -> str:
        name, value = (option[1] or option[2]).replace("-", "_"), option[3]
        if value is None:
            return name
        return f"{name}={value}" if re.fullmatch(r"\d+(\.\d+)?", value) else f'{name}="{value}"'

    return OPTION.sub(setting, text)


def bar(progress: Progress) -> None:
    """Show the progress on the last line of standard error, as a bar and in figures."""
    done = min(progress.answers / progress.total, 1.0) if progress.total else 1.0
    cells = "█" * round(BAR * done)
    sys.stderr.write(f"\r{cells:░<{BAR}} {progress}".ljust(LINE) + "\n" * (done == 1.0))
    sys.stderr.flush()


class Callback(Meter):
    """Shows the progress to the user's function, from the thread that called ``run``."""

    def __init__(self, execution: Execution, function: Callable[[Progress], object] | None) -> None:
        super().__init__(execution.run, execution.account, execution.responses, execution.submissions)
        self._function = function
        self._last = time.monotonic()

    def tick(self) -> None:
        if time.monotonic() - self._last >= SHOWN_EVERY:
            self.show()

    def add(self, record: Record) -> None:
        super().add(record)
        self.tick()

    def show(self) -> None:
        self._last = time.monotonic()
        if self._function is not None:
            self._function(self.progress())


def _named(candidates: object) -> list[tuple[str, object | None]]:
    """Pairs of a spec and an object: None for a spec, and the spec of the command line for an object."""
    if isinstance(candidates, str):
        return [(candidates, None)]
    if isinstance(candidates, Mapping):
        return [(str(name), candidate) for name, candidate in candidates.items()]
    named: list[tuple[str, object | None]] = []
    for candidate in candidates if isinstance(candidates, list | tuple) else [candidates]:
        if isinstance(candidate, str):
            named.append((candidate, None))
            continue
        kind = candidate if inspect.isroutine(candidate) or isinstance(candidate, type) else type(candidate)
        spec = f"python:{kind.__module__}:{kind.__qualname__}"
        if any(candidate is earlier for _, earlier in named):
            raise InputError(f"run: {spec} is named twice: name it once")
        if any(spec == earlier_spec for earlier_spec, _ in named):
            raise InputError(f"run: two objects are named {spec}: give a mapping from names to objects")
        named.append((spec, candidate))
    return named


def _model_factory(model: object) -> ModelFactory:
    return lambda spec: coerce(model, spec.text, modality=spec.modality)


def _detector_factory(detector: object) -> DetectorFactory:
    from pytest_factorfair.detection import custom

    return lambda spec: custom.coerce(detector, spec)
