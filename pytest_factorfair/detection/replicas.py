"""Copies of a detector in the actors of a Ray cluster, read as one detector."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_factorfair.detection import registry
from pytest_factorfair.detection.protocol import AT_ONCE, Detector
from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.models.cluster import Cluster, mismatches
from pytest_factorfair.redaction import fit

CHUNK = 16
"""Pictures that a replica reads at once."""


class Reader:
    """One copy of a detector, in a process of its own. It returns its errors: Ray would wrap them."""

    def __init__(self, spec: str, identity: Mapping[str, object], folder: str) -> None:
        if Path(folder).is_dir():
            os.chdir(folder)
        self._problem = ""
        try:
            self._detector = registry.build(spec, custom={})
            if different := mismatches(identity, self._detector.identity):
                self._problem = f"has another identity: {'; '.join(different)}"
        except Exception as error:  # noqa: BLE001  # whatever it is, the run reports it
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            self._problem = f"cannot build it: {kind}{fit(str(error))}"

    def read(
        self, pictures: Sequence[bytes], attributes: Sequence[Attribute]
    ) -> tuple[Detection, ...] | DetectorError:
        if self._problem:
            return DetectorError(f"the replica on {socket.gethostname()} (pid {os.getpid()}) {self._problem}")
        try:
            return self._detector.read(pictures, attributes)
        except DetectorError as error:
            return error
        except Exception as error:  # noqa: BLE001  # a user's own detector may raise anything
            return DetectorError(fit(f"{type(error).__name__}: {error}"))


class ReplicatedDetector:
    """A detector by its own name, read in replicas. Reading changes nothing, so Ray may repeat it."""

    def __init__(self, local: Detector, spec: str, cluster: Cluster, count: int) -> None:
        self.local = local
        self.identity = local.identity
        self.check = local.check
        self.at_once = AT_ONCE * count
        self._spec = spec
        self._cluster = cluster
        self._count = count
        self._folder = str(Path.cwd())
        self._actors: list[Any] = []

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Cut the pictures into chunks, and put together what the replicas see.

        Raises:
            DetectorError: a replica cannot read, or the cluster is gone.
        """
        try:
            ray = self._cluster.connect()
        except InputError as error:
            raise DetectorError(str(error)) from None
        if not self._actors:
            kind = ray.remote(Reader).options(
                num_gpus=0, num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD"
            )
            identity = dict(self.identity)
            self._actors = [kind.remote(self._spec, identity, self._folder) for _ in range(self._count)]
        starts = range(0, len(pictures), CHUNK)
        chunks = [
            self._actors[place % self._count].read.remote(list(pictures[start : start + CHUNK]), attributes)
            for place, start in enumerate(starts)
        ]
        pending = chunks
        while pending:
            if self._cluster.is_gone:
                raise DetectorError(self._cluster.lost)
            _, pending = ray.wait(pending, num_returns=len(pending), timeout=self._cluster.pace.look)
        detections: list[Detection] = []
        try:
            for part in ray.get(chunks):
                if isinstance(part, DetectorError):
                    raise DetectorError(f"detector '{self._spec}': {part}")
                detections += part
        except ray.exceptions.RayError as error:
            line = fit(f"{type(error).__name__}: {error}")
            raise DetectorError(f"detector '{self._spec}': {line}") from None
        return tuple(detections)
