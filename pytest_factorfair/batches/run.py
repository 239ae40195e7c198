"""What a run sends by batch, and how it waits for the answers before anything is asked one by one."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, cast

from pytest_factorfair.batches.batching import Batching, Plan
from pytest_factorfair.batches.protocol import BatchLine
from pytest_factorfair.domain import Request
from pytest_factorfair.errors import InputError, PendingError
from pytest_factorfair.models.prices import estimates
from pytest_factorfair.runs.submissions import TICK

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchModel
    from pytest_factorfair.domain import Query
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.runs.submissions import Submissions
    from pytest_factorfair.store import Store


def check(run: Run) -> None:
    """Check that every model of a run with batches can be asked by batch.

    Raises:
        InputError: one cannot.
    """
    settings = run.settings
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


class Sender:
    """Sends and collects the batches of a run, in the process that controls it."""

    def __init__(self, run: Run, submissions: Submissions, store: Store) -> None:
        self._run = run
        self._submissions = submissions
        self._batching = Batching(
            store,
            submissions.engine,
            price=run.batch_price,
            estimate=estimates(run.batch_price, run.modality),
            refresh=run.settings.reuse == "none",
        )

    def fetch(self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter) -> None:
        """Fetch the answers of batches into the store; see ``Execution.fetch_batches``."""
        by_model: dict[str, list[Query]] = {}
        for spec, of_model in queries:
            by_model.setdefault(spec, []).extend(of_model)
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        under_way = [
            self._batching.submit(model, of_model, self._plan(model), lines.put)
            for spec, of_model in by_model.items()
            if (model := _batched(self._run.models[spec])) is not None
        ]
        self._wait(under_way, lines, meter)
        errors = [error for future in under_way if (error := future.exception()) is not None]
        if errors:  # one that no later run can help comes first
            raise min(errors, key=lambda error: isinstance(error, PendingError))

    def _wait(self, under_way: Sequence[Future[None]], lines: queue.SimpleQueue[str], meter: Meter) -> None:
        """Wait for all batches, and show the lines that they announce meanwhile."""
        try:
            while True:
                self._submissions.reader.catch_up()  # the pilot's replies are judged meanwhile
                running = wait(under_way, TICK).not_done
                while not lines.empty():
                    meter.announce(lines.get())
                if not running:
                    return
                meter.tick()
        finally:
            meter.clear()

    def _plan(self, model: BatchModel) -> Plan:
        batch = self._run.settings.batch
        services = {} if model.batches is None else {model.batches.name: model.batches}
        if not batch:
            return Plan("collect", None, services)
        return Plan("wait" if batch == "wait" else "leave", model.batches, services)


def _batched(model: Model) -> BatchModel | None:
    """The model, if it is one whose requests can be sent in batches."""
    return cast("BatchModel", model) if hasattr(model, "take_form") else None
