"""pytest-xdist: settings for the workers, and what they used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.benchmarks import SHIPPED, benchmark_of
from pytest_factorfair.plugin.keys import ATTRIBUTE
from pytest_factorfair.runs import transport

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController  # type: ignore[import-untyped]  # xdist has no py.typed

    from pytest_factorfair.plugin.controller import Controller
    from pytest_factorfair.plugin.prefetch import StoreWarmup
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.run import Assignment


class XdistHooks:
    """Hooks that exist only with xdist, registered on the controller.

    They give the workers the controller's settings and checklists, and the controller the selected items.
    """

    def __init__(
        self, config: pytest.Config, execution: Execution, controller: Controller, warm: StoreWarmup | None
    ) -> None:
        self._config = config
        self._collected = False
        self._execution = execution
        self._controller = controller
        self._warm = warm

    def pytest_xdist_setupnodes(self, specs: Sequence[Any]) -> None:
        """Refuse limits that no worker can keep, before one is started or another host is called.

        ``specs`` are execnet's; names that were not given are None.
        """
        settings = self._execution.run.settings
        if settings.connections < len(specs):
            raise pytest.UsageError(
                f"--factorfair-max-connections={settings.connections}: each of {len(specs)} workers needs a "
                "connection of its own; allow more connections or start fewer workers"
            )
        names = (f"max-{limit.name}" for limit in fields(settings.ceilings))
        limits = [settings.origins[name] for name in names if name in settings.origins]
        remote = any(not spec.popen or spec.via for spec in specs)
        if remote and limits and settings.store.startswith("sqlite"):
            raise pytest.UsageError(
                f"{limits[0]}: workers on other hosts cannot share it through a file; name a PostgreSQL "
                "store with --factorfair-store, or leave the limit out"
            )

    def pytest_configure_node(self, node: WorkerController) -> None:
        run = self._execution.run
        share = run.settings.connections // node.workerinput["workercount"]
        reuse = self._execution.workers_reuse
        settings = replace(run.settings, connections=share, reuse=reuse)
        order = transport.WorkerInput(settings, run.checklists, self._execution.account.session)
        node.workerinput[ATTRIBUTE] = transport.pack(order)

    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Take the output of a worker that ends; a crashed one has none."""
        if (packed := getattr(node, "workeroutput", {}).get(ATTRIBUTE)) is not None:
            self._execution.add_worker(transport.unpack(transport.WorkerOutput, packed))

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Take the selected cases, before a worker asks the first.

        Raises:
            InputError: a user's benchmark cannot say what they ask.
        """
        selected = self._controller.select(ids)
        if not self._collected:  # all workers collect the same
            self._collected = True
            self._check_queries(selected)
            if reporter := self._config.pluginmanager.get_plugin("terminalreporter"):
                for line in self._controller.size():
                    reporter.write_line(line)
        if self._warm is not None:
            self._warm.ask_for_workers(selected)

    def _check_queries(self, selected: Iterable[Assignment]) -> None:
        """Call a user's benchmark here, because xdist reports an exception in a worker with its traceback."""
        for assignment in selected:
            if benchmark_of(assignment.checklist).name not in SHIPPED:
                self._execution.run.queries(assignment)
