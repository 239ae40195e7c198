"""The role of each process: the controller judges; every process that runs items asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.config import settings
from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import TO_DO, DetectorError, FatalModelError, InputError, StoreError
from pytest_factorfair.plugin.asking import hooks, reader
from pytest_factorfair.plugin.collection import dry
from pytest_factorfair.plugin.keys import ATTRIBUTE, EXECUTION, PROGRESS, RECORD, USAGE, ItemResult, attach
from pytest_factorfair.plugin.prefetch import Prefetch, StoreWarmup
from pytest_factorfair.redaction import redacted
from pytest_factorfair.runs import extensions
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.execution import Execution
from pytest_factorfair.runs.progress import Meter
from pytest_factorfair.runs.run import Run

if TYPE_CHECKING:
    from pytest_factorfair.domain import Checklist


RESERVED = {"factorfair", "filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
"""Marks with a meaning in pytest: no part, context or attribute may have these names."""


def start(config: pytest.Config) -> None:
    """Build this process's run and register the plugins of its role.

    Raises:
        pytest.UsageError: one line, exit code 4; on the controller, before a worker exists.
    """
    try:
        workerinput: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        _load_extensions(config)
        added = extensions.benchmarks(hooks(config, extensions.BENCHMARKS, {"config": config}))
        benchmarks.register(added, compare_metrics=workerinput is None)
        if workerinput is None:
            working_folder = config.invocation_params.dir
            typed = {
                option.name: OptionValue(value, option.flag, working_folder)
                for option in OPTIONS
                if (value := config.getoption(option.dest, default=None)) not in (None, [])
            }
            run = _run(config, settings.resolve(typed, os.environ, root=config.rootpath, here=working_folder))
            if run.large:
                _say(f"checking gates and stored answers of {len(run.assignments):,} cases ...")
            workers = len(config.getoption("tx", None) or ())
            execution = Execution(run, workers=workers, read=reader(config))
            if run.settings.plan:
                from pytest_factorfair.plugin.plan import show

                show(config, execution)
            else:
                _control(config, execution, workers)
        else:
            from pytest_factorfair.runs import transport

            order = transport.unpack(transport.WorkerInput, workerinput[ATTRIBUTE])
            run = _run(config, order.settings, checklists=order.checklists)
            execution = Execution(run, session=order.session, read=reader(config))
    except (InputError, StoreError) as error:
        raise pytest.UsageError(redacted(str(error))) from None
    config.stash[EXECUTION] = execution
    if PROGRESS not in config.stash:
        meter = Meter(execution.run, execution.account, execution.responses, execution.submissions)
        config.stash[PROGRESS] = meter
    config.pluginmanager.register(ReportTransport(), "factorfair-transport")
    config.pluginmanager.register(Prefetch(execution.submissions), "factorfair-prefetch")
    config.pluginmanager.register(RunCloser(execution), "factorfair-closing")


def _load_extensions(config: pytest.Config) -> None:
    """Register the modules of installed packages as plugins; ``-p no:NAME`` leaves one out.

    Raises:
        InputError: one cannot be imported.
    """
    plugins = config.pluginmanager
    for extension in extensions.installed(blocked=plugins.is_blocked):
        if not plugins.is_registered(extension.hooks):
            plugins.register(extension.hooks, extension.name)


def _run(
    config: pytest.Config,
    resolved: settings.Settings,
    *,
    checklists: tuple[Checklist, ...] | None = None,
) -> Run:
    """The run with the models and detectors of the user's hooks, and the checklists' words as markers."""
    models, detectors = (
        extensions.factories(hooks(config, name, {"config": config}))
        for name in (extensions.MODELS, extensions.DETECTORS)
    )
    run = compose(resolved, models, detectors, checklists=checklists, announce=_say)
    for marker in dict.fromkeys(mark for assignment in run.assignments for mark in assignment.case.marks):
        if marker in RESERVED:
            raise InputError(
                f"'{marker}' is a mark with a meaning in pytest: give the context or attribute another name"
            )
        config.addinivalue_line("markers", f"{marker}: cases of the checklist in use")
    return run


def _say(line: str) -> None:
    """Write a line while pytest has no terminal of its own yet."""
    sys.stderr.write(f"factorfair: {line}\n")


def _control(config: pytest.Config, execution: Execution, workers: int) -> None:
    """Register the plugins of the process that owns the terminal."""
    resolved = execution.run.settings
    if config.getoption("forked", default=False):  # of pytest-forked
        raise InputError("--forked: a fork cannot ask, as it lacks this process's threads; leave it out")
    if resolved.cluster is not None and (
        config.getoption("numprocesses", None) or config.getoption("tx", None)
    ):
        raise InputError(f"{resolved.where('executor')}: replicas replace workers; leave out -n")
    from pytest_factorfair.plugin.controller import Controller
    from pytest_factorfair.plugin.digest import Digest
    from pytest_factorfair.plugin.progress import ProgressLine
    from pytest_factorfair.runs.driver import Driver

    progress = ProgressLine(execution)
    digest = Digest()
    config.pluginmanager.register(digest, "factorfair-digest")
    controller = Controller(config, Driver(execution, progress), digest)
    config.pluginmanager.register(controller, "factorfair-controller")
    config.stash[PROGRESS] = progress
    config.pluginmanager.register(progress, "factorfair-progress")
    warms = resolved.warm or (not dry(config) and execution.needs_batches)
    warm = StoreWarmup(execution, progress, warms=warms) if warms or execution.tries_detector else None
    if warm is not None:
        config.pluginmanager.register(warm, "factorfair-warm")
    if workers:
        from pytest_factorfair.plugin.xdist import XdistHooks

        config.pluginmanager.register(XdistHooks(config, execution, controller, warm), "factorfair-xdist")


class ReportTransport:
    """Packs and unpacks results where plugins such as xdist serialize and deserialize reports."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self,
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        serialized = yield
        if serialized is not None and ATTRIBUTE in serialized:
            from pytest_factorfair.runs import transport

            serialized[ATTRIBUTE] = transport.pack(serialized[ATTRIBUTE])
        return serialized

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, object, object]:
        report = yield
        if isinstance(report, pytest.TestReport) and ATTRIBUTE in report.__dict__:
            from pytest_factorfair.runs import transport

            attach(report, transport.unpack(ItemResult, getattr(report, ATTRIBUTE)))
        return report


class RunCloser:
    """Closes everything when the session ends or is cancelled; responses that have arrived are committed."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if dry(session.config):
            return (yield)
        with self._execution.cancellable():
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._execution.close()
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            from pytest_factorfair.runs import transport

            output[ATTRIBUTE] = transport.pack(self._execution.worker_output())


def make_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Attach the item's result to its call report; a fatal error becomes one line and stops the session.

    ``shouldstop`` is set here, in the process that ran the item: xdist forwards it to the controller.
    """
    fatal: BaseException | None = None
    if call.excinfo is not None and isinstance(
        call.excinfo.value, (FatalModelError, DetectorError, StoreError)
    ):
        fatal = call.excinfo.value
    else:
        # An except clause of the user's may have hidden it.
        fatal = item.config.stash[EXECUTION].submissions.failure
    problem = "" if fatal is None else str(fatal).partition(TO_DO)[0]
    if (report.when == "call" and USAGE in item.stash) or (report.failed and problem):
        usage = item.stash.get(USAGE, Usage())
        attach(report, ItemResult(item.stash.get(RECORD, None), usage, ended=problem))
        if USAGE in item.stash:
            del item.stash[USAGE]  # a rerun reports only what it asked itself
        if RECORD in item.stash:
            del item.stash[RECORD]  # items live as long as the session
    if problem:
        if report.failed:
            report.longrepr = problem
        item.session.shouldstop = problem
