"""``--factorfair-batch``: answers by batch before anything is asked one by one."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, cast

from pytest_factorfair.domain import Request
from pytest_factorfair.errors import InputError, PendingError
from pytest_factorfair.runs.progress import TICK

if TYPE_CHECKING:
    from pytest_factorfair.domain import Query, Reuse
    from pytest_factorfair.engine import Plan
    from pytest_factorfair.models import Model
    from pytest_factorfair.models.batches import BatchModel
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment, Run


def check(run: Run) -> None:
    """Check that every model can be asked by batch, if the run does that.

    Raises:
        InputError: one cannot.
    """
    settings = run.settings
    if not settings.batch:
        return
    from pytest_factorfair.models.batches import BatchLine

    where = settings.where("batch")
    if run.modality == "image":
        raise InputError(f"{where}: batches answer with text, not with pictures; leave the option out")
    if settings.cluster is not None:
        raise InputError(f"{where}: batches are for services, not for replicas; leave one of both out")
    for spec, named in run.models.items():
        if (model := _batched(named)) is None:
            raise InputError(f"{where}: model '{spec}' is no service with batches; leave the option out")
        if model.batches is None:
            raise InputError(
                f"{where}: no batches are known of the service of '{spec}'; to answer the questions "
                f"elsewhere, give --factorfair-batch=files:DIR"
            )
        model.batches.encoded(BatchLine("", model.body(Request(""))))  # it may not take all fields


class Batches:
    """The batches of a run, in the process that controls it."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._run = execution.run
        self._settings = execution.run.settings

    @property
    def needed(self) -> bool:
        """Whether batches are to be sent or collected: earlier runs may have left some."""
        if self._settings.reuse == "only":
            return False
        return bool(self._settings.batch or self._execution.store.batches.open())

    @property
    def workers_reuse(self) -> Reuse:
        """The answers that workers take from the store, once this process has brought them."""
        if not self._settings.batch:
            return self._settings.reuse
        return "all" if self._settings.folder is None else "only"

    def bring_cases(self, assignments: Iterable[Assignment], meter: Meter) -> None:
        """Bring the answers of batches to these cases into the store; see ``bring``."""
        if self.needed:
            self.bring(
                ((assignment.model, self._run.queries(assignment)) for assignment in assignments), meter
            )

    def bring(self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter) -> None:
        """Bring the answers of batches to the queries of each model into the store.

        Raises:
            PendingError: batches are not done, and the run does not wait for them any longer.
            InputError: the service has no batches, or the replies in a folder are wrong.
            BudgetError, FatalModelError, StoreError: as for single calls.
        """
        if not self.needed:
            return
        by_model: dict[str, list[Query]] = {}
        for spec, of_model in queries:
            by_model.setdefault(spec, []).extend(of_model)
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        under_way = []
        for spec, of_model in by_model.items():
            if (model := _batched(self._run.models[spec])) is not None:
                engine = self._execution.engine
                under_way.append(engine.bring(model, of_model, self._plan(model), lines.put))
        _announced(under_way, lines, meter)
        errors = [error for future in under_way if (error := future.exception()) is not None]
        if errors:  # one that no later run can help comes first
            raise min(errors, key=lambda error: isinstance(error, PendingError))

    def _plan(self, model: BatchModel) -> Plan:
        from pytest_factorfair.engine import Plan

        services = {} if model.batches is None else {model.batches.name: model.batches}
        if not self._settings.batch:
            return Plan("collect", None, services)
        return Plan("wait" if self._settings.batch == "wait" else "leave", model.batches, services)


def _batched(model: Model) -> BatchModel | None:
    """The model, if it is one whose requests can be sent in batches."""
    return cast("BatchModel", model) if hasattr(model, "batches") else None


def _announced(under_way: Sequence[Future[None]], lines: queue.SimpleQueue[str], meter: Meter) -> None:
    """Wait for all, and show the lines that they tell meanwhile."""
    try:
        while True:
            running = wait(under_way, TICK).not_done
            while not lines.empty():
                meter.announce(lines.get())
            if not running:
                return
            meter.tick()
    finally:
        meter.clear()
