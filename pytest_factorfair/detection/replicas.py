"""A detector read in replicas: copies of it in the actors of a Ray cluster, by its own name."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from pytest_factorfair.detection.protocol import AT_ONCE, Detector
from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.engine.loop import LoopThread
from pytest_factorfair.errors import DetectorError, FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models.cluster import Cluster, Replicas
from pytest_factorfair.models.pool import LOST, Order, Pool, Replica
from pytest_factorfair.redaction import fit

CHUNK = 16
"""Pictures that a replica reads at once."""

GRACE = 10.0
"""Seconds to wait for replicas to end."""


Seen: TypeAlias = tuple[Detection, ...] | DetectorError
"""What a replica answers."""


@dataclass(frozen=True, eq=False, slots=True)
class Chunk:
    """What a replica is asked to read."""

    pictures: tuple[bytes, ...]
    attributes: tuple[Attribute, ...]


class DetectorReplica(Replica):
    """One copy of a detector. It reads in a thread of its own, one chunk at a time."""

    def __init__(self, order: bytes) -> None:
        super().__init__(order)
        self._reading = ThreadPoolExecutor(1)

    def ask(self, chunk: Chunk) -> Seen | FatalModelError:
        """The detections, or the error, as the detector itself would return or raise it."""
        if self.problem:
            return self.unfit
        try:
            return tuple(self._reading.submit(self.copy.read, chunk.pictures, chunk.attributes).result())
        except DetectorError as error:
            return error
        except Exception as error:  # noqa: BLE001  # a user's own detector may raise anything
            return DetectorError(fit(f"{type(error).__name__}: {error}"))


class ReplicatedDetector:
    """The detector of a spec. A chunk that loses its replica is read by another."""

    def __init__(self, local: Detector, order: Order, cluster: Cluster, count: int) -> None:
        self.local = local
        self.identity = local.identity
        self.check = local.check
        self.at_once = AT_ONCE * count
        self._name = order.name
        # The second chunk is under way while the first is read.
        self._pool: Pool[Seen] = Pool(
            DetectorReplica, order, cluster, Replicas(count, gpus=0.0), per_replica=2
        )
        self._loop = LoopThread()

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Cut the pictures into chunks, and put together what the replicas see.

        Raises:
            DetectorError: no replica can read, or the cluster is gone.
        """
        starts = range(0, len(pictures), CHUNK)
        chunks = [Chunk(tuple(pictures[start : start + CHUNK]), tuple(attributes)) for start in starts]
        reading = [self._loop.submit(self._read(chunk)) for chunk in chunks]
        return tuple(chain.from_iterable(future.result() for future in reading))

    def close(self) -> None:
        """End the replicas; the detector reads no more."""
        if self._loop.running:
            self._loop.submit(self._pool.close()).result(GRACE)
        self._loop.close(GRACE)

    async def _read(self, chunk: Chunk) -> tuple[Detection, ...]:
        """What a replica sees. A picture that ends each process that reads it cannot be read."""
        while True:
            try:
                detections = await self._pool.ask(chunk)
            except RetryableModelError:
                continue
            except FatalModelError as error:
                raise DetectorError(str(error)) from None
            except RejectedRequestError as error:
                if error.cause != LOST:
                    raise DetectorError(f"{self._name}: {error}") from None
                if len(chunk.pictures) == 1:
                    return (Detection(error=str(error)),)
                parts = [Chunk((picture,), chunk.attributes) for picture in chunk.pictures]
                return tuple(chain.from_iterable([await self._read(part) for part in parts]))
            if isinstance(detections, DetectorError):
                raise DetectorError(f"{self._name}: {detections}")
            return detections
