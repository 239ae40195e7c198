"""Hooks that exist only with pytest-xdist; registered on the controller when it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.session import transport

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController  # type: ignore[import-untyped]  # xdist has no py.typed

    from pytest_factorfair.plugin.controller import Controller
    from pytest_factorfair.session.run import Run


class XdistHooks:
    """Gives the workers the controller's settings and checklists, and the controller what they selected."""

    def __init__(self, run: Run, controller: Controller) -> None:
        self._run = run
        self._controller = controller

    def pytest_xdist_setupnodes(self, specs: Sequence[object]) -> None:
        connections = self._run.settings.connections
        if connections < len(specs):
            raise pytest.UsageError(
                f"--factorfair-max-connections={connections}: each of {len(specs)} workers needs a "
                "connection of its own; allow more connections or start fewer workers"
            )

    def pytest_configure_node(self, node: WorkerController) -> None:
        run = self._run
        share = run.settings.connections // node.workerinput["workercount"]
        order = transport.WorkerInput(replace(run.settings, connections=share), run.checklists)
        node.workerinput[transport.ATTRIBUTE] = transport.pack(order)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._controller.select(ids)
