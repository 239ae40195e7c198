"""A run in parts on several machines: which cases a shard asks, and what its merged answers are judged by."""

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

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.models import Model
    from pytest_factorfair.session.run import Assignment, Run
    from pytest_factorfair.store import ShardRow, Store

SIMULATED = "sim"
"""The detector of simulated models' pictures, which need not be named."""


def part(assignments: Sequence[Assignment], shard: Shard) -> tuple[Assignment, ...]:
    """The shard's assignments, in their order.

    The heaviest goes first to the lightest shard, so that two shards differ by one case at most.
    """
    loads = [(0, number) for number in range(1, shard.count + 1)]
    mine = set()
    for place in sorted(range(len(assignments)), key=lambda place: -assignments[place].case.samples):
        load, number = loads[0]
        heapq.heapreplace(loads, (load + assignments[place].case.samples, number))
        if number == shard.number:
            mine.add(place)
    return tuple(one for place, one in enumerate(assignments) if place in mine)


def fingerprint(run: Run) -> dict[str, Any]:
    """What all shards of a run share, and the run that judges them, as JSON values."""
    from pytest_factorfair import detection

    detector = {}
    if run.detector is not None:
        detector[run.settings.detector or SIMULATED] = detection.signature(run.detector)
    return {
        "models": {spec: dict(model.identity) for spec, model in run.models.items()},
        "checklists": {one.name: one.digest for one in run.checklists},
        "sampling": asdict(run.sampling),
        "answers": run.settings.answers,
        "detector": detector,
    }


def begun(run: Run, shard: Shard, store: Store) -> ShardRow:
    """The shard at its beginning, with what it has asked in earlier runs; one that was cut off goes on.

    Raises:
        StoreError: the store cannot be read.
    """
    from pytest_factorfair.store import ShardRow

    now = datetime.now(UTC).isoformat(timespec="seconds")
    new = ShardRow(shard.number, shard.count, {**fingerprint(run), "shards": shard.count}, now)
    for former in store.shards():
        if (former.run, former.number) == (new.run, new.number):
            return replace(new, usage=former.usage) if former.finished else former
    return new


def of_run(run: Run, store: Store) -> tuple[ShardRow, ...]:
    """The shards in the store whose answers are this run's; those of the latest division into shards.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = store.shards()
    mine = fingerprint(run) if rows else {}
    same = [row for row in rows if {**row.fingerprint, "shards": None} == {**mine, "shards": None}]
    return tuple(row for row in same if row.run == same[-1].run)


def usage(rows: Sequence[ShardRow]) -> Usage:
    """What the shards have asked together; what they found in their stores does not count."""
    total = sum((row.usage for row in rows), Usage())
    return replace(total, cached=0, shards=len(rows), in_shards=total.calls)


def missing(rows: Sequence[ShardRow]) -> Iterator[str]:
    """A note for each shard that is not there, or has not asked all of its cases."""
    had = {row.number: row for row in rows}
    for number in range(1, rows[0].count + 1 if rows else 1):
        if number not in had or not had[number].finished:
            what = "was not finished" if number in had else "is missing"
            yield f"shard {number} of {rows[0].count} {what}: answers may be missing from the store"


class StoredModel:
    """A model that cannot be built here, for answers that it has given elsewhere."""

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
    """The model of this spec; for a replay also one that only shards in the store describe.

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
    identity = next((one for one in reversed(identities) if one is not None), None)
    if identity is None or identity.get("answers", "text") != settings.answers:
        return None
    known = {**identity, **identity.get("parameters", {})}
    for name, text in settings.model_arguments.items():
        if name in known and name not in prices.ARGUMENTS and not _says(text, known[name]):
            raise InputError(
                f"{settings.where('model-arg')}: {name}={text}, and the shards in the store were asked with "
                f"{name}={known[name]}"
            )
    return StoredModel(spec, identity)


def stored_detector(settings: Settings, spec: str, error: InputError) -> Detector:
    """The detector of this spec as shards in the store describe it, since an error keeps it from being built.

    Raises:
        InputError: none describes it.
        StoreError: the store cannot be read.
    """
    from pytest_factorfair.detection import Stored

    signatures = [row.fingerprint.get("detector", {}).get(spec) for row in _rows(settings)]
    signature = next((one for one in reversed(signatures) if one is not None), None)
    if signature is None:
        raise error
    return Stored(spec, signature)


def _rows(settings: Settings) -> tuple[ShardRow, ...]:
    """The shards in the store of a replay; nothing else goes without models and detectors."""
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
