"""Copies (replicas) of a model or a detector in the actors of a Ray cluster, used like a single one.

Ray restarts an actor that dies, but does not repeat its requests, because the engine must grant and count
every call. An actor is considered alive while it answers our pings, because Ray reports a lost connection
only after minutes. Errors are returned, not raised, because Ray would wrap them in a remote traceback.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from pytest_factorfair.config.sources import Replicas
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.ray.cluster import Cluster, mismatches
from pytest_factorfair.redaction import fit

T = TypeVar("T")

LOST = Cause("unknown", "replica lost")
"""The cause of failure of a request if every replica that received it was lost."""

UNFIT = Cause("unknown", "replica unfit")
"""The cause of failure if a replica could not build its copy, or built one with another identity."""


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """The object that a replica builds: its name, how to build it, and the identity that it must have."""

    name: str
    build: Callable[[], Any]
    identity: Mapping[str, object]
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    release: str = field(default_factory=lambda: version("pytest-factorfair"))


class Replica:
    """A copy of an object in an actor process; ``pickled`` is its spec. Subclasses add ``ask(request)``.

    ``copy`` is the object that was built, or None; ``problem`` then says why it could not be built.
    """

    def __init__(self, pickled: bytes) -> None:
        self.copy: Any = None
        self.problem = ""
        try:
            import pickle

            spec: ReplicaSpec = pickle.loads(pickled)  # noqa: S301  # from the controlling process
            installed = {"pytest-factorfair": version("pytest-factorfair")}
            different = mismatches({"pytest-factorfair": spec.release}, installed)
            if not different:
                if Path(spec.folder).is_dir():
                    os.chdir(spec.folder)
                self.copy = spec.build()
                different = mismatches(spec.identity, self.copy.identity)
            if different:
                self.copy = None
                self.problem = f"has another identity: {'; '.join(different)}"
        except BaseException as error:  # noqa: BLE001  # any error is reported by the run
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            self.problem = f"cannot build it: {kind}{fit(str(error))}"

    @property
    def unfit(self) -> FatalModelError:
        """The error with which a replica without a copy answers every request."""
        return FatalModelError(self.problem, cause=UNFIT)

    def ready(self) -> tuple[str, str]:
        """Answer a ping with the replica's host and process, and its problem ("" without one)."""
        return f"{socket.gethostname()} (pid {os.getpid()})", self.problem


@dataclass(eq=False, slots=True)
class ReplicaState:
    """The state of a replica in the controlling process.

    ``busy`` is its number of current requests; while it is ``reserved`` it gets no further ones. ``gone`` is
    completed when the replica is given up, and None while it is not alive. ``deaths`` counts deaths in a row.
    """

    actor: Any
    where: str = ""
    busy: int = 0
    reserved: bool = False
    deaths: int = 0
    gone: asyncio.Future[None] | None = None


class Pool(Generic[T]):
    """Distributes requests over the replicas of an object: the least busy one gets the next request.

    ``kind`` is the class of the replicas, ``per_replica`` the number of requests that one takes at a time.
    All methods except ``connect`` are called in one event loop. ``T`` is the type of a replica's answer; a
    ``ModelError`` that a replica returns is raised.
    """

    def __init__(
        self,
        kind: type[Replica],
        spec: ReplicaSpec,
        cluster: Cluster,
        replicas: Replicas,
        *,
        per_replica: int,
    ) -> None:
        self._kind = kind
        self._spec = spec
        self._cluster = cluster
        self._replicas = replicas
        self._count = replicas.count
        self._per_replica = per_replica
        self._timeouts = cluster.timeouts
        self._room = 0
        self._ray: Any = None
        self._slots: list[ReplicaState] = []
        self._losses: dict[object, int] = {}
        self._starting: asyncio.Task[None] | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._failure: FatalModelError | None = None
        self._answered = False
        self._without = 0.0  # when the last live replica was lost, by the loop's clock
        self._alone = asyncio.Lock()
        self._change = asyncio.Event()

    @property
    def parallel(self) -> int | None:
        """How many requests all replicas together take at a time; None until their number is known."""
        return None if self._count is None else self._count * self._per_replica

    def connect(self) -> None:
        """Connect to the cluster, and determine how many replicas fit.

        Raises:
            InputError: there is no such cluster, it refuses the connection, or it has too few GPUs.
        """
        self._ray = self._cluster.connect()
        gpus = self._replicas.gpus
        room = self._cluster.room(gpus) if gpus else self._count or 0
        # Not an error for a cluster that the user named: it may start nodes on demand.
        if not room and (self._count is None or not self._cluster.named):
            raise InputError(
                f"{self._cluster.name}: no node has {gpus:g} GPUs for a replica (the cluster has "
                f"{sum(self._cluster.gpus):g}): add gpus=0 to --factorfair-replicas to use none"
            )
        self._count = self._count or room
        self._room = min(room, self._count)

    @property
    def notice(self) -> str | None:
        """A message if the cluster does not have enough GPUs for all replicas yet; otherwise None."""
        placed = sum(bool(slot.where) for slot in self._slots) or self._room
        if self._count is None or self._count in (self._room, placed):
            return None
        needed, available = f"{self._replicas.gpus:g}", f"{sum(self._cluster.gpus):g}"
        return (
            f"{self._spec.name}: {placed} of {plural(self._count, 'replica')} found room (each needs "
            f"{needed} GPUs, and the cluster began with {available}); the others start when a node joins"
        )

    async def ask(self, request: object) -> T:
        """Ask a replica. A request that has lost several replicas gets one that has no other requests.

        Raises:
            RetryableModelError: the replica was lost; the request may be repeated.
            RejectedRequestError: the request has lost too many replicas, or failed itself.
            FatalModelError: there is no usable replica.
        """
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        await asyncio.shield(self._starting)
        if self._losses.get(request, 0) < self._timeouts.suspect:
            slot = await self._free()
            try:
                return await self._asked(slot, request)
            finally:
                self._release(slot)
        async with self._alone:
            while True:
                slot = await self._free()
                slot.reserved = True
                try:
                    while slot.gone and slot.busy > 1:
                        await self._change.wait()
                    if slot.gone:
                        return await self._asked(slot, request)
                finally:
                    slot.reserved = False
                    self._release(slot)

    async def close(self) -> None:
        self._failure = self._failure or FatalModelError("the run is over")
        for task in self._keepers:
            task.cancel()
        if not self._cluster.is_gone:
            for slot in self._slots:
                self._ray.kill(slot.actor)

    async def _start(self) -> None:
        """Create the actors. Ray starts an actor as soon as a node has room for it."""
        loop = asyncio.get_running_loop()
        if self._ray is None:
            try:
                await loop.run_in_executor(None, self.connect)
            except InputError as error:
                raise FatalModelError(str(error)) from None

        def gone() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._fail, FatalModelError(self._cluster.lost))

        self._cluster.watch(gone)
        kind = self._ray.remote(self._kind).options(
            num_gpus=self._replicas.gpus,
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=0,
            # Requests that were given up may still run, and a ping must always get through.
            max_concurrency=2 * self._per_replica + 1,
            scheduling_strategy="SPREAD",
        )
        spec = self._ray.cloudpickle.dumps(self._spec)
        self._without = loop.time()
        self._slots = [ReplicaState(kind.remote(spec)) for _ in range(self._count or 1)]
        self._keepers = [asyncio.ensure_future(self._keep(slot)) for slot in self._slots]

        def kept(task: asyncio.Task[None]) -> None:
            """End the run if the task that monitors a replica fails, as its death would go unnoticed."""
            if not task.cancelled() and (error := task.exception()) is not None:
                self._fail(FatalModelError(fit(f"{self._spec.name}: {type(error).__name__}: {error}")))

        for task in self._keepers:
            task.add_done_callback(kept)

    # Routing

    async def _free(self) -> ReplicaState:
        """Wait for a live replica with a free slot, and take a slot of the least busy one.

        Raises:
            FatalModelError: there will be no replica.
        """
        while self._failure is None:
            live = [slot for slot in self._slots if slot.gone and not slot.reserved]
            slot = min(live, key=lambda candidate: candidate.busy, default=None)
            if slot is not None and slot.busy < self._per_replica:
                slot.busy += 1
                return slot
            await self._change.wait()
        raise self._failure.with_traceback(None)

    async def _asked(self, slot: ReplicaState, request: object) -> T:
        """Ask one replica; an answer that arrives after the replica was given up is dropped."""
        gone = slot.gone
        assert gone is not None  # noqa: S101  # _free only returns live replicas
        exceptions = self._ray.exceptions
        try:
            answer = _awaited(slot.actor.ask.remote(request))
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise self._lost(slot, gone, request, "it is silent")
            outcome = answer.result()
        except (exceptions.RayTaskError, exceptions.RaySystemError) as error:
            cause = getattr(error, "cause", None) or error  # the answer could not be serialised
            raise RejectedRequestError(
                fit(f"{type(cause).__name__}: {cause}"), cause=Cause.raised(cause)
            ) from None
        except exceptions.RayError as error:
            raise self._lost(slot, gone, request, type(error).__name__) from None
        if isinstance(outcome, FatalModelError) and outcome.cause == UNFIT:
            # The replica was restarted on another node since its last ping.
            self._fail(self._unfit(slot.where, str(outcome)))
            outcome = self._failure
        elif isinstance(outcome, FatalModelError) and self._answered:
            # Other requests were answered, so only this replica's GPU has failed: Ray starts another process.
            if slot.gone is gone:
                self._ray.kill(slot.actor, no_restart=False)
            raise self._lost(slot, gone, request, str(outcome))
        self._losses.pop(request, None)
        if isinstance(outcome, ModelError):
            raise outcome
        slot.deaths = 0
        self._answered = True
        result: T = outcome
        return result

    def _lost(
        self, slot: ReplicaState, gone: asyncio.Future[None], request: object, reason: str
    ) -> ModelError:
        """The error for a request that lost its replica: retry at once, but only a few times."""
        if self._failure is not None:
            return self._failure
        if slot.gone is gone:
            self._give_up(slot, reason)
        losses = self._losses[request] = self._losses.get(request, 0) + 1
        if losses < self._timeouts.attempts:
            return RetryableModelError(f"a replica on {slot.where} was lost: {reason}", at_once=True)
        del self._losses[request]
        line = f"given up after {losses} attempts: each lost its replica, the last on {slot.where} ({reason})"
        return RejectedRequestError(line, cause=LOST)

    def _release(self, slot: ReplicaState) -> None:
        slot.busy -= 1
        self._changed()

    def _changed(self) -> None:
        """Wake all requests that wait for a replica."""
        self._change.set()
        self._change = asyncio.Event()

    # Monitoring

    async def _keep(self, slot: ReplicaState) -> None:
        """Monitor a replica, and use it while it answers pings. Ray restarts it, maybe on another node."""
        timeouts, loop = self._timeouts, asyncio.get_running_loop()
        while self._failure is None and slot.deaths < timeouts.deaths:
            answer = _awaited(slot.actor.ready.remote())
            await asyncio.wait({answer}, timeout=timeouts.silence)
            if not answer.done():
                self._give_up(slot, "it is silent")
                await asyncio.wait({answer}, timeout=3 * timeouts.silence)
            if answer.done() and answer.exception() is None:
                where, problem = answer.result()
                if problem:
                    self._fail(self._unfit(where, problem))
                    return
                if slot.gone is None:
                    slot.where, slot.gone = where, loop.create_future()
                    self._changed()
                await asyncio.sleep(timeouts.ping)
            elif answer.done():
                self._give_up(slot, type(answer.exception()).__name__)
                await asyncio.sleep(min(0.2, timeouts.ping))
            if any(replica.gone for replica in self._slots):
                self._without = loop.time()
            elif loop.time() - self._without > timeouts.patience:
                needed = "none could be started"
                if self._replicas.gpus:
                    available = sum(self._cluster.gpus)
                    needed = f"each needs {self._replicas.gpus:g} GPUs, and the cluster had {available:g}"
                line = f"{self._spec.name}: no replica for {timeouts.patience:g} s: {needed}"
                self._fail(FatalModelError(f"{line}; answers so far are kept"))

    def _give_up(self, slot: ReplicaState, reason: str) -> None:
        """Mark a replica as dead. A reserved one is not counted: its request is to blame for the death."""
        if slot.gone is None:
            return
        slot.gone.set_result(None)
        slot.gone = None
        slot.deaths += not slot.reserved
        self._changed()
        if all(replica.deaths >= self._timeouts.deaths for replica in self._slots):
            line = f"every replica was lost {self._timeouts.deaths} times in a row"
            self._fail(FatalModelError(f"{self._spec.name}: {line}, the last on {slot.where}: {reason}"))

    def _unfit(self, where: str, problem: str) -> FatalModelError:
        return FatalModelError(f"{self._spec.name}: the replica on {where} {problem}", cause=UNFIT)

    def _fail(self, error: FatalModelError) -> None:
        """Fail all current and later requests."""
        self._failure = self._failure or error
        for slot in self._slots:
            if slot.gone is not None:
                slot.gone.set_result(None)
                slot.gone = None
        self._changed()


def _awaited(reference: Any) -> asyncio.Task[Any]:
    """A task for the result of an actor call; its exception may stay unretrieved."""

    async def value() -> Any:
        return await reference

    task = asyncio.ensure_future(value())
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
    return task
