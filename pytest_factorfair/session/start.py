"""A run from Python, without pytest: ``from pytest_factorfair import run``."""

from __future__ import annotations

import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.config.options import MODEL, OPTIONS
from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import Given
from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import FactorfairError, InputError, StoreError, nearest
from pytest_factorfair.models.callable import coerce
from pytest_factorfair.redaction import redacted
from pytest_factorfair.session.execution import Execution, ask_all
from pytest_factorfair.session.ledger import Ledger, Start
from pytest_factorfair.session.progress import Meter, Progress
from pytest_factorfair.session.run import compose

if TYPE_CHECKING:
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.domain import Record, Usage
    from pytest_factorfair.models import Factory as ModelFactory
    from pytest_factorfair.session.answering import ReadAnswer

SHOWN_EVERY = 1.0
"""Seconds between two calls of the user's ``progress``."""

BAR, LINE = 20, 120
"""Characters of the progress bar, and of its whole line."""


def run(
    model: object,
    *,
    detector: object = None,
    read_answer: ReadAnswer | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
    root: str | os.PathLike[str] = ".",
    **settings: object,
) -> Summary:
    """Run checklists on a model without pytest; the results are those of ``pytest --factorfair-model=...``.

    The call blocks until all answers have arrived, even inside a running event loop, as in a notebook. It
    writes reports and stores responses like a pytest run, and both can share a store. Failed gates raise no
    exception: check the summary's ``gates``.

    Args:
        model: a spec, as on the command line; a model or a function from prompt to reply; a list of these; or
            a mapping from the names to show to models or functions.
        detector: for pictures, a spec or a detector of your own.
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
        StoreError: the store cannot be opened, read or written, or reports cannot be written.
    """
    here, project = Path.cwd(), Path(root).resolve()
    models = [] if model is None else _named(model)
    if not models:
        raise InputError(f"run(model): expected a spec, a model or a function of the prompt, got {model!r}")
    show = progress
    if progress is None:
        ipython = sys.modules.get("IPython")
        in_notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
        show = in_notebook or (sys.stderr is not None and sys.stderr.isatty())
    if isinstance(show, bool):
        show = bar if show else None
    for name, function in (("read_answer", read_answer), ("progress", show)):
        if function is not None and not callable(function):
            raise InputError(f"run({name}=...): expected a function, got {function!r}")
    typed = {"model": Given([name for name, _ in models], "run(model)", here), **_given(settings, here)}
    detectors = [] if detector is None else _named(detector)
    if detector is not None:
        if len(detectors) != 1:
            raise InputError(f"run(detector=...): expected one spec or detector, got {detector!r}")
        typed["detector"] = Given(detectors[0][0], "run(detector=...)", here)
    try:
        chosen = resolve(typed, os.environ, root=project, here=here)
        if chosen.plan or chosen.explain_cache:
            raise InputError("plan and explain_cache: run() asks the model; plan with pytest")
        composed = compose(
            chosen,
            {name: _model_factory(thing) for name, thing in models if thing is not None},
            {name: _detector_factory(thing) for name, thing in detectors if thing is not None},
        )
        with closing(Execution(composed)) as execution, execution.cancellable():
            return _concluded(execution, read_answer, show)
    except FactorfairError as error:
        error.args = (redacted(str(error)),)
        raise


def _given(settings: Mapping[str, object], here: Path) -> dict[str, Given]:
    """The settings of a call by option name; tuples become lists, and paths become text."""
    known = {option.toml: option.name for option in OPTIONS if option is not MODEL}
    given = {}
    for key, value in settings.items():
        where = f"run({key}=...)"
        if key not in known:
            raise InputError(f"{where}: there is no such setting{nearest(key, known)}")
        plain = list(value) if isinstance(value, tuple) else value
        if plain is not None:
            text = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
            given[known[key]] = Given(text, where, here)
    return given


def _concluded(
    execution: Execution, read: ReadAnswer | None, show: Callable[[Progress], object] | None
) -> Summary:
    """Ask every case, conclude, and return the summary."""
    from pytest_factorfair.session.answering import recorded
    from pytest_factorfair.session.conclusion import Conclusion

    run = execution.run
    ledger = Ledger(one.key for one in run.to_ask)
    ledger.select(one.key for one in run.to_ask)
    meter = Callback(execution, show)
    conclusion = Conclusion(execution, ledger, meter, read=read, start=Start())
    execution.begin()
    failure: BaseException | None = None
    try:
        for one, exchanges in ask_all(execution, run.to_ask, meter):
            spent = execution.unaccounted(exchanges)
            ledger.spend(spent)
            record = recorded(execution, one, exchanges, detector=run.detector, read=read)
            ledger.add(record)
            meter.count(record, spent)
        conclusion.ask_further(left_out="")
    except BaseException as error:
        execution.interrupt("the run was interrupted")
        failure = error
        raise
    finally:
        interruption = None if failure is None else str(failure) or "the run was interrupted"
        result = conclusion.draw(interruption=interruption, left_out="")
        if failure is not None:
            if result.written:
                failure.add_note(f"partial report: {', '.join(result.written)}")
            if result.rescued:
                failure.add_note(result.rescued)
    if execution.trouble:
        raise StoreError("; ".join(filter(None, (execution.trouble, result.rescued))))
    if result.unwritten:
        raise StoreError(f"{result.unwritten}; the answers are in the store")
    for logged in result.logged:
        if logged.failed:
            warnings.warn(str(logged), stacklevel=3)
    meter.show()
    return result.summary


def bar(progress: Progress) -> None:
    """Show the progress on the last line of standard error, as a bar and in figures."""
    done = min(progress.answers / progress.total, 1.0) if progress.total else 1.0
    cells = "█" * round(BAR * done)
    sys.stderr.write(f"\r{cells:░<{BAR}} {progress}".ljust(LINE) + "\n" * (done == 1.0))
    sys.stderr.flush()


class Callback(Meter):
    """Shows the progress to the user's function, from the thread that called ``run``."""

    def __init__(self, execution: Execution, function: Callable[[Progress], object] | None) -> None:
        super().__init__(execution)
        self._function = function
        self._last = time.monotonic()

    def tick(self) -> None:
        if time.monotonic() - self._last >= SHOWN_EVERY:
            self.show()

    def count(self, record: Record | None, unaccounted: Usage) -> None:
        super().count(record, unaccounted)
        self.tick()

    def show(self) -> None:
        self._last = time.monotonic()
        if self._function is not None:
            self._function(self.progress())


def _named(given: object) -> list[tuple[str, object | None]]:
    """Specs with None; objects with the spec that would name them on the command line."""
    if isinstance(given, str):
        return [(given, None)]
    if isinstance(given, Mapping):
        return [(str(name), thing) for name, thing in given.items()]
    named: list[tuple[str, object | None]] = []
    for thing in given if isinstance(given, list | tuple) else [given]:
        if isinstance(thing, str):
            named.append((thing, None))
            continue
        kind = thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
        spec = f"python:{kind.__module__}:{kind.__qualname__}"
        if any(thing is other for _, other in named):
            raise InputError(f"run: {spec} is named twice: name it once")
        if any(spec == other for other, _ in named):
            raise InputError(f"run: two objects are named {spec}: give a mapping from names to objects")
        named.append((spec, thing))
    return named


def _model_factory(thing: object) -> ModelFactory:
    return lambda spec: coerce(thing, spec.text, modality=spec.modality)


def _detector_factory(thing: object) -> DetectorFactory:
    from pytest_factorfair.detection import custom

    return lambda spec: custom.coerce(thing, spec)
