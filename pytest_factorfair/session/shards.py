"""A run divided among machines: the cases of a shard, and the usage and identities of merged shards."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_factorfair.config.settings import Settings, Shard
from pytest_factorfair.domain import Request, Response, Usage
from pytest_factorfair.errors import FatalModelError, InputError
from pytest_factorfair.models import prices
from pytest_factorfair.redaction import concealed

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.models import Model
    from pytest_factorfair.session.run import Assignment, Run
    from pytest_factorfair.store import ShardRow, Store

SIMULATED = "sim"
"""The detector of simulated models' pictures, which need not be named."""


def part(assignments: Sequence[Assignment], shard: Shard) -> tuple[Assignment, ...]:
    """The shard's assignments, in their order.

    The heaviest case goes to the lightest shard first, so that two shards differ by at most one case.
    """
    loads = [(0, number) for number in range(1, shard.count + 1)]
    positions = set()
    for position in sorted(range(len(assignments)), key=lambda position: -assignments[position].case.samples):
        load, number = loads[0]
        heapq.heapreplace(loads, (load + assignments[position].case.samples, number))
        if number == shard.number:
            positions.add(position)
    return tuple(assignment for position, assignment in enumerate(assignments) if position in positions)


def fingerprint(run: Run) -> dict[str, Any]:
    """The values that all shards of a run share with the run that judges them, as JSON."""
    from pytest_factorfair import detection

    detector = {}
    if run.detector is not None:
        detector[concealed(run.settings.detector or SIMULATED)] = detection.signature(run.detector)
    return {
        "models": {spec: dict(model.identity) for spec, model in run.models.items()},
        "checklists": {checklist.name: checklist.digest for checklist in run.checklists},
        "sampling": asdict(run.sampling),
        "answers": run.settings.answers,
        "detector": detector,
    }


def begun(run: Run, shard: Shard, store: Store) -> ShardRow:
    """The shard as it begins, with its usage in earlier runs; one that was cut off continues.

    Raises:
        StoreError: the store cannot be read.
    """
    from pytest_factorfair.store import ShardRow

    began = datetime.now(UTC).isoformat(timespec="seconds")
    shard_row = ShardRow(shard.number, shard.count, {**fingerprint(run), "shards": shard.count}, began)
    for former in store.shards():
        if (former.run, former.number) == (shard_row.run, shard_row.number):
            return replace(shard_row, usage=former.usage) if former.finished else former
    return shard_row


def of_run(run: Run, store: Store) -> tuple[ShardRow, ...]:
    """The shards in the store that belong to this run, of the latest division.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = store.shards()
    run_fingerprint = fingerprint(run) if rows else {}
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


class StoredModel:
    """A model that cannot be built here; its stored answers can be used."""

    endpoint: str = "store"
    parallel: int | None = None

    def __init__(self, spec: str, identity: Mapping[str, object]) -> None:
        self._spec = spec
        self.identity = identity

    async def ask(self, _request: Request) -> Response:
        raise FatalModelError(f"model '{self._spec}' cannot be used here; only its stored answers can")

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def built_or_stored(settings: Settings, spec: str, build: Callable[[], Model]) -> Model:
    """The model of this spec; for a replay also one that is only described by shards in the store.

    Raises:
        InputError: it cannot be built and no shard describes it, or an argument differs from theirs.
        StoreError: the store cannot be read.
    """
    try:
        return build()
    except InputError:  # no weights, no key, no such package
        if (stored := _stored_model(settings, spec)) is None:
            raise
        return stored


def _stored_model(settings: Settings, spec: str) -> StoredModel | None:
    identities = [row.fingerprint.get("models", {}).get(spec) for row in _rows(settings)]
    identity = next((identity for identity in reversed(identities) if identity is not None), None)
    if identity is None or identity.get("answers", "text") != settings.answers:
        return None
    stored_values = {**identity, **identity.get("parameters", {})}
    for name, text in settings.model_arguments.items():
        if (
            name in stored_values
            and name not in prices.ARGUMENTS
            and not _says(concealed(text), stored_values[name])
        ):
            raise InputError(
                f"{settings.where('model-arg')}: {name}={text}, and the shards in the store were asked with "
                f"{name}={stored_values[name]}"
            )
    return StoredModel(spec, identity)


def stored_detector(settings: Settings, spec: str, error: InputError) -> Detector:
    """The detector of this spec as described by shards in the store; ``error`` prevented building it.

    Raises:
        InputError: none describes it.
        StoreError: the store cannot be read.
    """
    from pytest_factorfair.detection import Stored

    signatures = [row.fingerprint.get("detector", {}).get(concealed(spec)) for row in _rows(settings)]
    signature = next((signature for signature in reversed(signatures) if signature is not None), None)
    if signature is None:
        raise error
    return Stored(spec, signature)


def _rows(settings: Settings) -> tuple[ShardRow, ...]:
    """The shards in the store of a replay; no other run can do without its models and detectors."""
    from pytest_factorfair.store import Store

    if not settings.replay:
        return ()
    with Store.open(settings.store, read_only=True) as store:
        return store.shards()


def _says(text: str, value: object) -> bool:
    """Whether an argument as typed is this value of an identity."""
    try:
        return float(text) == float(str(value))
    except ValueError:
        return text == str(value)
