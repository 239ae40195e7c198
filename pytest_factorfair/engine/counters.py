"""Running figures for a progress line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EndpointState:
    """The state of one endpoint, over all processes of the run.

    ``throttled`` counts its 429 replies, ``waited`` the seconds for which they closed it. ``opens_in`` is
    the seconds until it is called again, 0.0 while it is open. ``failing`` counts the queries that have
    failed since its last answer, and ``cause`` is the last of these failures in one line.
    """

    endpoint: str
    throttled: int = 0
    waited: float = 0.0
    opens_in: float = 0.0
    failing: int = 0
    cause: str = ""


@dataclass(slots=True)
class Counters:
    """The figures as they grow; written by the loop's thread only.

    ``asked`` counts calls sent, retries included. ``done`` counts queries that are answered and
    committed, or have failed; of these, ``cached`` needed no call and ``errors`` failed.
    """

    asked: int = 0
    done: int = 0
    cached: int = 0
    errors: int = 0

    def land(self, *, cached: bool, error: bool) -> None:
        self.done += 1
        self.cached += cached
        self.errors += error
