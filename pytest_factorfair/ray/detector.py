"""A detector that runs as replicas: copies in the actors of a Ray cluster, used like a single detector."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from pytest_factorfair.config.sources import Replicas
from pytest_factorfair.detection.protocol import AT_ONCE, Detector
from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.engine.loop import LoopThread
from pytest_factorfair.errors import DetectorError, FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.ray.cluster import Cluster
from pytest_factorfair.ray.pool import LOST, Pool, Replica, ReplicaSpec
from pytest_factorfair.redaction import fit

CHUNK = 16
"""How many pictures a replica reads at once."""

GRACE = 10.0
"""How many seconds to wait until replicas have ended."""


Seen: TypeAlias = tuple[Detection, ...] | DetectorError
"""The type of a replica's answer."""


@dataclass(frozen=True, eq=False, slots=True)
class Chunk:
    """Pictures for a replica to read, with the attributes."""

    pictures: tuple[bytes, ...]
    attributes: tuple[Attribute, ...]


class DetectorReplica(Replica):
    """One copy of a detector, which reads one chunk at a time in a thread of its own."""

    def __init__(self, spec: bytes) -> None:
        super().__init__(spec)
        self._reading = ThreadPoolExecutor(1)

    def ask(self, chunk: Chunk) -> Seen | FatalModelError:
        """Read a chunk; the detector's error is returned, not raised."""
        if self.problem:
            return self.unfit
        try:
            return tuple(self._reading.submit(self.copy.read, chunk.pictures, chunk.attributes).result())
        except DetectorError as error:
            return error
        except Exception as error:  # noqa: BLE001  # a user's own detector may raise anything
            return DetectorError(fit(f"{type(error).__name__}: {error}"))


class ReplicatedDetector:
    """A detector in replicas. If a replica is lost, its chunk is read by another one."""

    def __init__(self, local: Detector, spec: ReplicaSpec, cluster: Cluster, count: int) -> None:
        self.local = local
        self.identity = local.identity
        self.check = local.check
        self.at_once = AT_ONCE * count
        self._name = spec.name
        # Two requests per replica: the second chunk is transferred while the first is read.
        self._pool: Pool[Seen] = Pool(
            DetectorReplica, spec, cluster, Replicas(count, gpus=0.0), per_replica=2
        )
        self._loop = LoopThread()

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Distribute the pictures over the replicas in chunks, and collect the detections.

        Raises:
            DetectorError: no replica is usable, or the cluster is gone.
        """
        starts = range(0, len(pictures), CHUNK)
        chunks = [Chunk(tuple(pictures[start : start + CHUNK]), tuple(attributes)) for start in starts]
        reading = [self._loop.submit(self._read(chunk)) for chunk in chunks]
        return tuple(chain.from_iterable(future.result() for future in reading))

    def close(self) -> None:
        """Stop the replicas; the detector cannot be used any more."""
        if self._loop.running:
            self._loop.submit(self._pool.close()).result(GRACE)
        self._loop.close(GRACE)

    async def _read(self, chunk: Chunk) -> tuple[Detection, ...]:
        """Have a replica read a chunk; the detection of a picture that crashes every replica is an error."""
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
