"""A connection to a Ray cluster: opened when first needed, monitored while in use, closed at the end.

Ray kills a process without a report 60 s after the head of its cluster is gone, so we disconnect before.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytest_factorfair.domain import differences
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.redaction import fit

# Ray is imported by name when used: importing takes seconds, and it may not be installed.


@dataclass(frozen=True, slots=True)
class ClusterTimeouts:
    """Time-outs (in seconds) and failure counts for monitoring a cluster.

    A TCP connection may take ``connect``. A replica is pinged every ``ping``, and given up after ``silence``
    without an answer. The head is checked every ``look``, and considered gone after ``misses`` failures in a
    row. A replica that dies ``deaths`` times in a row is not used again. A request whose replica died
    ``suspect`` times is sent to a replica of its own; after ``attempts`` times it is an error. A run ends if
    it has no replica for ``patience``.
    """

    connect: float = 5.0
    ping: float = 5.0
    silence: float = 15.0
    look: float = 5.0
    misses: int = 3
    deaths: int = 5
    suspect: int = 2
    attempts: int = 6
    patience: float = 600.0


TIMEOUTS = ClusterTimeouts()


class Cluster:
    """A Ray cluster with its head at ``address`` (HOST:PORT).

    Without an address, it is the one that RAY_ADDRESS names, the one on this machine, or a new one here.

    Raises:
        MissingExtraError: Ray is not installed.
    """

    def __init__(self, address: str) -> None:
        if not find_spec("ray"):
            raise MissingExtraError("--factorfair-executor=ray", "ray")
        self.name = f"--factorfair-executor=ray{address and ':'}{address}"
        self.timeouts = TIMEOUTS
        self.is_gone = False
        self.gpus: tuple[float, ...] = ()  # of each node
        self.named = address or os.environ.get("RAY_ADDRESS", "")
        self._ray: Any = None
        self._is_guest = False  # whether the process was connected to Ray already
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watchers: list[Callable[[], object]] = []

    @property
    def lost(self) -> str:
        """The error message for a cluster that lost its head."""
        return f"{self.name}: the head of the cluster is gone; answers so far are kept"

    def connect(self) -> Any:
        """The module ``ray``, connected to the cluster. The first call may take seconds.

        Raises:
            InputError: nothing answers at the address, or Ray refuses the connection.
        """
        with self._lock:
            if self._ray is None:
                # In a thread of its own: in the main thread Ray would replace the SIGTERM handler, and what
                # Ray starts ends with the thread that called it.
                joined: Future[Any] = Future()
                thread = threading.Thread(
                    target=self._stay, args=(joined,), name="factorfair-ray", daemon=True
                )
                thread.start()
                try:
                    self._ray = joined.result()
                except Exception as error:
                    raise InputError(f"{self.name}: {_reason(error)}") from error
        return self._ray

    def room(self, gpus: float) -> int:
        """The number of replicas that fit into the cluster; ``gpus`` below 1 is a share of a single GPU."""
        if gpus <= 1:
            return sum(int(node_gpus) * int(1 / gpus + 1e-9) for node_gpus in self.gpus)
        return sum(int(node_gpus // gpus) for node_gpus in self.gpus)

    def watch(self, watcher: Callable[[], object]) -> None:
        """Register a function that is called, in another thread, when the head of the cluster is gone."""
        self._watchers.append(watcher)

    def close(self) -> None:
        """Disconnect from the cluster; a cluster that was started here is shut down."""
        self._closed.set()
        with self._lock:
            if self._ray is not None and not self._is_guest:
                self._ray.shutdown()
            self._ray = None

    def _stay(self, joined: Future[Any]) -> None:
        """Connect to the cluster, and monitor its head until ``close`` is called or the head is gone."""
        try:
            ray = self._join()
            head = ray.get_runtime_context().gcs_address
        except BaseException as error:  # noqa: BLE001  # of any type; ``connect`` raises InputError
            joined.set_exception(error)
            return
        joined.set_result(ray)
        misses = 0
        while misses < self.timeouts.misses:
            if self._closed.wait(self.timeouts.look):
                return
            misses = 0 if self._answers(head) else misses + 1
        self.is_gone = True
        for watcher in self._watchers:
            watcher()
        self.close()

    def _join(self) -> Any:
        if "://" in self.named:
            raise InputError(
                "expected HOST:PORT of the cluster's head, not a URL: Ray Client is not supported"
            )
        # Ray waits for minutes if there is no server.
        if ":" in self.named and not self._answers(self.named):
            raise InputError(f"nothing answers at {self.named}; start the cluster, or correct the address")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # We report failures of replicas ourselves; Ray would print the tails of its logs.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "(?s).*")
        ray = import_module("ray")
        self._is_guest = ray.is_initialized()
        if not self._is_guest:
            ray.init(
                address=self.named or None,
                log_to_driver=False,
                logging_level="ERROR",
                include_dashboard=False,
            )
        self.gpus = tuple(node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"])
        return ray

    def _answers(self, address: str) -> bool:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), self.timeouts.connect).close()
        except OSError:
            return False
        return True


def mismatches(local: Mapping[str, Any], remote: Mapping[str, Any]) -> list[str]:
    """The fields in which two identities differ, such as `versions.torch is "2.12", here "2.13"`."""
    return [
        fit(f"{'.'.join(path)} is {remote_value}, here {local_value}")
        for path, local_value, remote_value in differences(local, remote)
    ]


def _reason(error: BaseException) -> str:
    """The root cause in one line: the outer error of Ray often says only that it could not connect."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, InputError):
        return str(error)
    _, traceback, frames = str(error).partition("Traceback (most recent call last):")
    if traceback:  # part of Ray's message: the cause follows the last (indented) frame
        return fit(frames.rpartition("\n  ")[2].partition("\n")[2])
    return fit(f"{type(error).__name__}: {error}")
