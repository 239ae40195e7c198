"""A run divided among machines: what a shard leaves in the store, and the shards that a run adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_factorfair.domain import Usage
from pytest_factorfair.redaction import concealed
from pytest_factorfair.runs.composing import SIMULATED
from pytest_factorfair.store.sharing.shards import ShardRow

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Shard
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.store import Store


def fingerprint(run: Run) -> dict[str, Any]:
    """The values that all shards of a run share with the run that judges them, as JSON."""
    from pytest_factorfair import detection

    detector = {}
    if run.detector is not None:
        detector[concealed(run.settings.detector or SIMULATED)] = detection.signature(run.detector)
    return {
        "models": {spec: dict(model.identity) for spec, model in run.models.items()},
        "checklists": {checklist.name: checklist.digest for checklist in run.checklists},
        "sampling": asdict(replace(run.sampling, declines="missing")),  # it changes no question
        "answers": run.settings.answers,
        "detector": detector,
    }


def begun(run: Run, shard: Shard, store: Store) -> ShardRow:
    """The shard as it begins, with its usage in earlier runs; one that was cut off continues.

    Raises:
        StoreError: the store cannot be read.
    """
    began = datetime.now(UTC).isoformat(timespec="seconds")
    shard_row = ShardRow(shard.number, shard.count, {**fingerprint(run), "shards": shard.count}, began)
    for former in store.shards():
        if (former.run, former.number) == (shard_row.run, shard_row.number):
            return replace(shard_row, usage=former.usage) if former.finished else former
    return shard_row


def of_run(run: Run, rows: Sequence[ShardRow]) -> tuple[ShardRow, ...]:
    """The shards of a store that belong to this run, of the latest division."""
    run_fingerprint = fingerprint(run)
    matching = [
        row for row in rows if {**row.fingerprint, "shards": None} == {**run_fingerprint, "shards": None}
    ]
    return tuple(row for row in matching if row.run == matching[-1].run)


def usage(rows: Sequence[ShardRow]) -> Usage:
    """The usage of all shards together, without the answers that were in their stores."""
    total = sum((row.usage for row in rows), Usage())
    return replace(total, cached=0, shards=len(rows), in_shards=total.calls)


def missing(rows: Sequence[ShardRow]) -> Iterator[str]:
    """A note for each shard that is missing, or has not asked all of its cases."""
    row_by_number = {row.number: row for row in rows}
    for number in range(1, rows[0].count + 1 if rows else 1):
        if number not in row_by_number or not row_by_number[number].finished:
            state = "was not finished" if number in row_by_number else "is missing"
            yield f"shard {number} of {rows[0].count} {state}: answers may be missing from the store"
