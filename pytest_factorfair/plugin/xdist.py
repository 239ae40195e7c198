"""Hooks that exist only with pytest-xdist; registered on the controller when it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

    def pytest_configure_node(self, node: WorkerController) -> None:
        run = self._run
        order = transport.WorkerInput(run.settings, run.checklists)
        node.workerinput[transport.ATTRIBUTE] = transport.pack(order)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._controller.select(ids)
