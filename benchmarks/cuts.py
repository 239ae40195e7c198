"""Measure the cost of a network cut between two Ray nodes. Run it manually, as root, on Linux:

    python -m benchmarks.cuts

Each node is in a network namespace of its own; the link between them is cut temporarily, and permanently. The
tests stop processes instead.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import replicas
from benchmarks.harness import limited, table
from tests.ray_cluster import TOKEN

SAMPLES = 192
CUT = 33.0
"""How many seconds the link is cut."""

NAMES = tuple(f"factorfair{os.getpid()}{letter}" for letter in "ab")
ADDRESSES = ("10.97.0.1", "10.97.0.2")
HEAD = f"{ADDRESSES[0]}:6379"


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607


def link(state: str) -> None:
    """Cut the link between the nodes, or restore it."""
    ip("-n", NAMES[1], "link", "set", "node", state)


@contextmanager
def nodes() -> Iterator[None]:
    """A Ray cluster of two nodes with one logical GPU each, which are connected by the link only."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN, RAY_USAGE_STATS_ENABLED="0")
    roles = (("--head", "--port=6379", "--include-dashboard=false"), (f"--address={HEAD}",))
    sizes = ("--num-cpus=1", "--num-gpus=1", "--object-store-memory=80000000", "--disable-usage-stats")
    try:
        for name in NAMES:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", NAMES[0], "link", "add", "node", "type", "veth", "peer", "name", "node", "netns", NAMES[1])
        for name, address, role in zip(NAMES, ADDRESSES, roles, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "node")
            ip("-n", name, "link", "set", "node", "up")
            ray = str(Path(sys.executable).with_name("ray"))
            ip("netns", "exec", name, ray, "start", *role, f"--node-ip-address={address}", *sizes)
        yield
    finally:
        for name in NAMES:
            with suppress(subprocess.CalledProcessError):
                for pid in ip("netns", "pids", name).split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                ip("netns", "delete", name)


def run(count: int, seconds: float | None = None) -> replicas.Run:
    """Run on a number of nodes; one of them is cut off for ``seconds``, if given."""
    mended = threading.Event()

    def cut(_: int) -> None:
        if seconds is not None:
            link("down")
            mended.wait(None if math.isinf(seconds) else seconds)
            link("up")

    options = (f"--factorfair-executor=ray:{HEAD}", f"--factorfair-replicas={count}")
    within = ("ip", "netns", "exec", NAMES[0])
    completed = replicas.run(*options, samples=SAMPLES, within=within, event=cut)
    mended.set()
    return completed


def main() -> None:
    with nodes():
        alone, two, cut, lost = run(1), run(2), run(2, CUT), run(2, math.inf)
    table(
        f"two nodes, {alone.answers:,} answers of 50 ms, one at a time in each",
        [
            ("one node, s", f"{alone.asking:.1f}"),
            ("two nodes, s", f"{two.asking:.1f}"),
            (f"cut for {CUT:g} s, s", f"{cut.asking:.1f}"),
            ("cut for good, s", f"{lost.asking:.1f}"),
            (f"cut for {CUT:g} s / one node, time", limited(cut.asking / alone.asking, 1.1)),
            ("cut for good / one node, time", limited(lost.asking / alone.asking, 1.1)),
            (
                "answers generated twice, of both cuts",
                f"{cut.generated - cut.answers}, {lost.generated - lost.answers}",
            ),
            ("answers lost", limited(2 * alone.answers - cut.answers - lost.answers, 0)),
            ("claims left", limited(cut.claims + lost.claims, 0)),
        ],
    )


if __name__ == "__main__":
    main()
