"""Running figures for a progress line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Figures of one moment.

    ``asked`` counts calls sent, retries included. ``done`` counts queries that are answered and
    committed, or have failed; of these, ``cached`` needed no call and ``errors`` failed.
    """

    asked: int = 0
    done: int = 0
    cached: int = 0
    errors: int = 0


@dataclass(slots=True)
class Counters:
    """The figures as they grow; written by the loop thread only."""

    asked: int = 0
    done: int = 0
    cached: int = 0
    errors: int = 0

    def land(self, *, cached: bool, error: bool) -> None:
        self.done += 1
        self.cached += cached
        self.errors += error

    def snapshot(self) -> Snapshot:
        return Snapshot(asked=self.asked, done=self.done, cached=self.cached, errors=self.errors)
