"""Places that the processes of a run share, as locks on the bytes of a file.

A byte is locked as long as its place is in use. The kernel lets go of what a process held, however it
ends, so nothing has to be taken over from the dead.
"""

from __future__ import annotations

import fcntl
import os
import time
import zlib
from collections.abc import Callable
from io import FileIO
from pathlib import Path

STRIDE = 2**20  # bytes for each endpoint: one that says that somebody waits, then one a place
_PROBE = STRIDE * 2**20  # a byte behind all places
YIELD = 0.03  # seconds in which a place given up is left to those who wait, three of their looks


class Places:
    """This process's hold on the places of one endpoint; used from one thread.

    Beyond an equal share a process takes, and keeps, places only as long as no other waits for one.
    """

    def __init__(
        self,
        file: FileIO,
        endpoint: str,
        *,
        most: int,
        sharers: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._waiting = STRIDE * (zlib.crc32(endpoint.encode("utf-8", "replace")) % 2**20)
        self._most = most
        self._share = most / sharers
        self._clock = clock
        self._held: list[int] = []
        self._next = os.getpid() % most
        self._wants = False
        self._yielding = float("-inf")

    def take(self) -> bool:
        """Take a place, if there is one for this process now."""
        if self._clock() < self._yielding:
            return False
        if self._held and len(self._held) + 1 > self._share and self._wanted_elsewhere():
            return False
        for number in range(self._most):
            place = (self._next + number) % self._most
            if place not in self._held and self._lock(self._waiting + 1 + place, fcntl.LOCK_EX):
                self._held.append(place)
                self._next = place
                return True
        return False

    def give(self) -> None:
        """Give a place back."""
        if len(self._held) > self._share and self._wanted_elsewhere():
            self._yielding = self._clock() + YIELD
        self._lock(self._waiting + 1 + self._held.pop(), fcntl.LOCK_UN)

    def want(self, *, more: bool) -> None:
        """Say whether this process waits for a place."""
        if more != self._wants:
            # Where somebody is just looking, it is said at the next occasion.
            done = self._lock(self._waiting, fcntl.LOCK_SH if more else fcntl.LOCK_UN)
            self._wants = more if done else self._wants

    def _wanted_elsewhere(self) -> bool:
        alone = self._lock(self._waiting, fcntl.LOCK_EX)
        if alone:
            self._lock(self._waiting, fcntl.LOCK_SH if self._wants else fcntl.LOCK_UN)
        return not alone

    def _lock(self, byte: int, kind: int) -> bool:
        return _locked(self._file, byte, kind)


class Shared:
    """The file of a run as one of its processes has it open; closing it gives back all that is held, and
    closing it twice does nothing.

    Raises:
        OSError: it is not there: this process runs on another machine than the controlling one; or
            the file system has no locks, so that no place could ever be taken.
    """

    def __init__(self, path: Path, *, most: int, sharers: int) -> None:
        self._file = FileIO(path, "r+")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _PROBE)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _PROBE)
        except OSError:
            self._file.close()
            raise
        self._most = most
        self._sharers = sharers

    def places(self, endpoint: str) -> Places:
        return Places(self._file, endpoint, most=self._most, sharers=self._sharers)

    def close(self) -> None:
        self._file.close()


def _locked(file: FileIO, byte: int, kind: int) -> bool:
    try:
        fcntl.lockf(file, kind if kind == fcntl.LOCK_UN else kind | fcntl.LOCK_NB, 1, byte)
    except OSError:
        return False
    return True
