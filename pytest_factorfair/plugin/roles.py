"""What each process does: the controller judges; every process that runs items asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.config import settings
from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.sources import Given
from pytest_factorfair.errors import DetectorError, FatalModelError, InputError, StoreError
from pytest_factorfair.plugin.keys import PROGRESS, RECORD, RUN, USAGE
from pytest_factorfair.plugin.prefetch import Prefetch
from pytest_factorfair.plugin.xdist import ATTRIBUTE, ReportTransport, XdistHooks, attach
from pytest_factorfair.redaction import redacted
from pytest_factorfair.session import transport
from pytest_factorfair.session.progress import Meter
from pytest_factorfair.session.run import Run

if TYPE_CHECKING:
    from pytest_factorfair.domain import Checklist


def start(config: pytest.Config) -> None:
    """Build this process's run and register the plugins of its role.

    Raises:
        pytest.UsageError: one line, exit code 4; on the controller, before a worker exists.
    """
    try:
        workerinput: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        if workerinput is None:
            here = config.invocation_params.dir
            typed = {
                one.name: Given(value, one.flag, here)
                for one in OPTIONS
                if (value := config.getoption(one.dest, default=None)) not in (None, [])
            }
            run = _run(config, settings.resolve(typed, os.environ, root=config.rootpath, here=here))
            _control(config, run)
        else:
            order = transport.unpack(transport.WorkerInput, workerinput[ATTRIBUTE])
            run = _run(config, order.settings, checklists=order.checklists, session=order.session)
    except (InputError, StoreError) as error:
        raise pytest.UsageError(redacted(str(error))) from None
    config.stash[RUN] = run
    config.stash.setdefault(PROGRESS, Meter(run))
    config.pluginmanager.register(ReportTransport(), "factorfair-transport")
    config.pluginmanager.register(Prefetch(run), "factorfair-prefetch")
    config.pluginmanager.register(Closing(run), "factorfair-closing")


def _run(
    config: pytest.Config,
    chosen: settings.Settings,
    *,
    checklists: tuple[Checklist, ...] | None = None,
    session: str = "",
) -> Run:
    """The run with the models and detectors of the user's hooks, and the checklists' words as markers."""
    models = _merged("pytest_factorfair_models", config.hook.pytest_factorfair_models(config=config))
    detectors = _merged("pytest_factorfair_detectors", config.hook.pytest_factorfair_detectors(config=config))
    run = Run(chosen, models, detectors, checklists=checklists, session=session)
    for marker in run.markers:
        config.addinivalue_line("markers", f"{marker}: cases of the checklist in use")
    return run


def _merged(hook: str, results: list[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for factories in results:
        if not isinstance(factories, Mapping):
            raise InputError(f"{hook}: expected a mapping of names, got {factories!r}")
        merged |= factories
    return merged


def _control(config: pytest.Config, run: Run) -> None:
    """Register what only the process that owns the terminal needs."""
    if run.settings.plan or run.settings.explain_cache:
        from pytest_factorfair.plugin.showing import Showing
        from pytest_factorfair.session import cache_misses
        from pytest_factorfair.session.plan import Plan

        if run.settings.plan:
            showing = Showing(config, run, "plan", Plan(run).lines())
        else:
            showing = Showing(config, run, "cache", cache_misses.lines(run))
        config.pluginmanager.register(showing, "factorfair-showing")
        return
    from pytest_factorfair.plugin.alike import AlikeFailures
    from pytest_factorfair.plugin.controller import Controller
    from pytest_factorfair.plugin.progress import ProgressLine

    progress, failures = ProgressLine(run), AlikeFailures()
    controller = Controller(config, run, progress, failures)
    config.pluginmanager.register(failures, "factorfair-alike-failures")
    config.pluginmanager.register(failures.complete, "factorfair-complete-failures")
    config.pluginmanager.register(controller, "factorfair-controller")
    config.stash[PROGRESS] = progress
    config.pluginmanager.register(progress, "factorfair-progress")
    if run.settings.warm:
        from pytest_factorfair.plugin.warm import Warm

        config.pluginmanager.register(Warm(run, progress), "factorfair-warm")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistHooks(run, controller), "factorfair-xdist")


class Closing:
    """Closes the run as soon as the session ends; responses that have arrived are committed."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._run.close()


def make_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Attach the item's result to its call report; a fatal error becomes one line and stops the session.

    ``shouldstop`` is set here, in the process that ran the item: xdist forwards it to the controller.
    """
    if report.when == "call" and USAGE in item.stash:
        result = transport.ItemResult(item.stash.get(RECORD, None), item.stash[USAGE])
        attach(report, result)
        del item.stash[USAGE]  # a rerun reports only what it asked itself
        if RECORD in item.stash:
            del item.stash[RECORD]  # items live as long as the session
    fatal = _fatal(item, call)
    if fatal is not None:
        if report.failed:
            report.longrepr = fatal
        item.session.shouldstop = fatal


def _fatal(item: pytest.Item, call: pytest.CallInfo[None]) -> str | None:
    if call.excinfo is not None and isinstance(
        call.excinfo.value, (FatalModelError, DetectorError, StoreError)
    ):
        return str(call.excinfo.value)
    run = item.config.stash[RUN]
    failure = run.engine.failure if run.asking else None  # an except clause of the user's may have hidden it
    return str(failure) if failure is not None else None
