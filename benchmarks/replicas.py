"""Measure what replicas gain and cost on a Ray cluster of two nodes, which are processes on this machine.

    python -m benchmarks.replicas

Times are measured from the first request to the last, without the start of pytest, the cluster and the
replicas, for a model that takes 50 ms per answer, one at a time. CPU time is the minimum over several runs of
the whole controlling process, with pictures (code cards): a text answer costs so little there that Ray's own
work for a call (0.5 to 1 ms) and the import of Ray (0.4 s) dominate.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import harness
from benchmarks.harness import PYTEST, limited, measured, table
from tests.ray_cluster import Nodes

SMALL = Path(__file__).parents[1] / "tests" / "data" / "small.yaml"
SAMPLES = 96
"""The number of answers of each of the eight subjective cases; the six objective ones have four."""
REPEATS = 3
MODEL = """
import os
import time
from pathlib import Path

def ask(prompt):
    time.sleep(0.05)
    with (Path(__file__).parent / "log").open("a") as file:
        file.write(f"{os.getpid()} {time.monotonic()}\\n")
    return "AB"[len(prompt) % 2] + "."

ask.factorfair_parallel = 1
"""


@dataclass(frozen=True)
class Run:
    """A run with a number of ``answers``; ``generated`` is how many the model generated, with repetitions.

    ``asking`` is the time from the first to the last answer in seconds, ``cpu`` the CPU seconds of the
    controlling process. ``claims`` is the number of claims that it left in its store.
    """

    answers: int
    generated: int
    asking: float
    cpu: float
    claims: int


def run(
    *options: str,
    samples: int = SAMPLES,
    within: Sequence[str] = (),
    event: Callable[[int], object] = lambda _: None,
) -> Run:
    """Run in an empty folder; ``within`` are words to put before the command.

    ``event`` is called with the process that answered first, once a quarter of the answers is there.

    Raises:
        RuntimeError: the run failed, or answers are missing.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        shutil.copy(SMALL, folder)
        (folder / "model.py").write_text(MODEL, encoding="utf-8")

        def entries() -> list[tuple[int, float]]:
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            return [(int(pid), float(moment)) for pid, moment in map(str.split, lines)]

        def wait() -> None:
            while len(answered := entries()) < (24 + 8 * samples) // 4:
                time.sleep(0.05)
            event(answered[0][0])

        threading.Thread(target=wait, daemon=True).start()
        command = [*within, *PYTEST]
        sizes = ["--factorfair-checklist=small.yaml", f"--factorfair-samples={samples},objective=4"]
        cost = measured([*command, "--factorfair-model=python:model.py:ask", *sizes, *options], cwd=folder)
        moments = [moment for _, moment in entries()]
        with closing(sqlite3.connect(folder / ".factorfair" / "responses.sqlite")) as store:
            rows, claims = (
                store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # ours
                for table in ("responses", "claims")
            )
        return Run(rows, len(moments), moments[-1] - moments[0], cost.cpu, claims)


def cpu_of_pictures(*options: str) -> float:
    """The CPU seconds of the controlling process, for the 4,560 code cards of FACT-OR-FAIR."""
    pictures = ("--factorfair-checklist=fact_or_fair_t2i", "--factorfair-samples=images=20", "-pno:xdist")
    return harness.run("sim:stereotyped", *pictures, *options).cpu


def figures() -> list[tuple[str, str]]:
    """Compare one replica, two, and two of which one is killed, with a run without a cluster."""
    nodes = Nodes()
    try:
        cluster = f"--factorfair-executor={nodes.executor}"
        local = run()
        one_replica = run(cluster, "--factorfair-replicas=1")
        two_replicas = run(cluster, "--factorfair-replicas=2")
        killed = run(cluster, "--factorfair-replicas=2", event=lambda pid: os.kill(pid, signal.SIGKILL))
        # Alternately, because the load of the machine may change; the first run also compiles.
        pairs = [
            (cpu_of_pictures(), cpu_of_pictures(cluster, "--factorfair-replicas=2")) for _ in range(REPEATS)
        ]
    finally:
        nodes.end()
    alone, shared = map(min, zip(*pairs, strict=True))
    runs = (
        ("local", local),
        ("1 replica", one_replica),
        ("2 replicas", two_replicas),
        ("2, one killed", killed),
    )
    return [
        *(
            (f"{name}: answers a second", f"{completed.answers / completed.asking:.1f}")
            for name, completed in runs
        ),
        ("2 replicas / 1 replica, time", limited(two_replicas.asking / one_replica.asking, 1 / 1.85)),
        ("controlling process, 4,560 pictures, CPU s", f"{alone:.1f}, with 2 replicas {shared:.1f}"),
        ("controlling process, cluster / local, CPU", limited(shared / alone, 1.35)),
        ("controlling process, text, CPU added by the cluster, s", f"{two_replicas.cpu - local.cpu:.2f}"),
        ("one replica killed / calm, time", limited(killed.asking / two_replicas.asking, 1.3)),
    ]


def main() -> None:
    table(f"replicas, {24 + 8 * SAMPLES} answers of 50 ms, one at a time in each", figures())


if __name__ == "__main__":
    main()
