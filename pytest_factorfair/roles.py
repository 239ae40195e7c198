"""Who this process is, and what it therefore does: the controller judges, every runner of items asks."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair import freight, settings, wire
from pytest_factorfair.errors import DetectorError, FatalModelError, InputError, StoreError
from pytest_factorfair.keys import PROGRESS, RECORD, RUN, USAGE
from pytest_factorfair.prefetch import Prefetch
from pytest_factorfair.redaction import redacted
from pytest_factorfair.run import Run
from pytest_factorfair.xdist import CHECKLISTS, WORKERINPUT, XdistHooks

if TYPE_CHECKING:
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.models import Factory

YOUNG = 10_000
"""New objects between two searches for garbage: at Python's 700 they take another twentieth of a run and find
next to nothing, as what is new is what has just been asked."""


def start(config: pytest.Config) -> None:
    """Build this process's run and register what its role needs.

    Raises:
        pytest.UsageError: one line, exit code 4; on the controller, before a worker exists.
    """
    try:
        _start(config)
    except (InputError, StoreError) as error:
        raise pytest.UsageError(redacted(str(error))) from None


def _start(config: pytest.Config) -> None:
    workerinput: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    chosen = _of_worker(workerinput) if workerinput else settings.resolve(config)
    given = wire.checklists_from_wire(workerinput[CHECKLISTS]) if workerinput else None
    controller = os.getppid() if workerinput else None
    run = Run(chosen, _models(config), _detectors(config), checklists=given, controller=controller)
    for marker in run.markers:
        config.addinivalue_line("markers", f"{marker}: cases of the checklist in use")
    if workerinput is None and chosen.plan:
        from pytest_factorfair.plan import Plan

        config.pluginmanager.register(Plan(config, run), "factorfair-plan")
    elif workerinput is None and chosen.explain_cache:
        from pytest_factorfair.cache_misses import CacheMisses

        config.pluginmanager.register(CacheMisses(config, run), "factorfair-cache-misses")
    elif workerinput is None:
        _control(config, run)
    config.stash[RUN] = run
    config.pluginmanager.register(freight.Crossing(), "factorfair-freight")
    config.pluginmanager.register(Prefetch(run), "factorfair-prefetch")
    config.pluginmanager.register(Closing(run), "factorfair-closing")
    config.add_cleanup(gc.unfreeze)  # once pytest has looked for garbage itself
    config.add_cleanup(partial(gc.set_threshold, *gc.get_threshold()))
    atexit.register(gc.freeze)  # and Python need not look for it as it ends, which took a quarter of a second


def _of_worker(workerinput: Mapping[str, Any]) -> settings.Settings:
    """The controller's settings, and how many share in them."""
    whole = wire.settings_from_wire(workerinput[WORKERINPUT])
    return replace(whole, workers=int(workerinput["workercount"]))


def _models(config: pytest.Config) -> dict[str, Factory]:
    return _merged("pytest_factorfair_models", config.hook.pytest_factorfair_models(config=config))


def _detectors(config: pytest.Config) -> dict[str, DetectorFactory]:
    return _merged("pytest_factorfair_detectors", config.hook.pytest_factorfair_detectors(config=config))


def _merged(hook: str, given: list[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for factories in given:
        if not isinstance(factories, Mapping):
            raise InputError(f"{hook}: expected a mapping of names, got {factories!r}")
        merged |= factories
    return merged


def _control(config: pytest.Config, run: Run) -> None:
    from pytest_factorfair.alike import AlikeFailures
    from pytest_factorfair.controller import Controller
    from pytest_factorfair.progress import Progress

    progress, failures = Progress(run), AlikeFailures()
    controller = Controller(config, run, progress, failures)
    config.pluginmanager.register(failures, "factorfair-alike-failures")
    config.pluginmanager.register(failures.complete, "factorfair-complete-failures")
    config.pluginmanager.register(controller, "factorfair-controller")
    config.stash[PROGRESS] = progress
    config.pluginmanager.register(progress, "factorfair-progress")
    if run.settings.warm:
        from pytest_factorfair.warm import Warm

        config.pluginmanager.register(Warm(run, progress), "factorfair-warm")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistHooks(run, controller), "factorfair-xdist")


class Closing:
    """Stops asking as soon as the session ends, and keeps what arrived."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        gc.freeze()  # modules and items stay: to look through them again and again takes a twentieth of a run
        if 0 < gc.get_threshold()[0] < YOUNG:  # 0 is off
            gc.set_threshold(YOUNG)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._run.close()


def make_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Let the item's record ride on its report; a fatal error is one line and stops the session.

    ``shouldstop`` is set here, in the process that ran the item: xdist hands it to the controller.
    """
    if report.when == "call" and USAGE in item.stash:
        freight.load(report, (item.stash.get(RECORD, None), item.stash[USAGE]))
        del item.stash[USAGE]  # a rerun tells only what it asked itself
        if RECORD in item.stash:
            del item.stash[RECORD]  # and items live as long as the session
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
    failure = run.engine.failure if run.asking else None  # a user's own except may have hidden it
    return str(failure) if failure is not None else None
