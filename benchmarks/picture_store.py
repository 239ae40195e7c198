"""Measure the cost of storing pictures: ``python -m benchmarks.picture_store [--full]``.

It measures pictures per second through the engine into a store, compared with as many rows without a picture;
their size on disk, and whether memory grows. ``--full`` stores 10,000 pictures of 100 KB instead of 1,000.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.harness import limited, table
from pytest_factorfair.domain import Query, Request, Response
from pytest_factorfair.engine import Engine
from pytest_factorfair.store import Store

SIZE = 100_000
CASE = 20
GROWTH = 1.2


class Dealer:
    """A model that returns a picture of this number of bytes immediately."""

    endpoint: str = "dealer"
    parallel: int | None = None

    def __init__(self, size: int) -> None:
        self.identity: Mapping[str, object] = {"provider": "dealer", "size": size}
        self._padding = random.Random(0).randbytes(size) if size else b""  # noqa: S311  # not for cryptography

    async def ask(self, request: Request) -> Response:
        if not self._padding:
            return Response("A")
        return Response("", image=b"\x89PNG\r\n\x1a\n" + request.prompt.encode() + self._padding)

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def keep(count: int, size: int) -> None:
    """Store ``count`` pictures, and print seconds, peak in KiB and bytes on disk; for a separate process."""
    model = Dealer(size)
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(f"sqlite:///{folder}/responses.sqlite") as store:
            engine = Engine(store)
            began = time.perf_counter()
            for start in range(0, count, CASE):
                queries = [Query(str(n), f"p{n}", (), 0, n, {}) for n in range(start, start + CASE)]
                engine.submit(model, queries).result()
            took = time.perf_counter() - began
            engine.close()
        held = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, held)


def measured(count: int, size: int) -> tuple[float, float, float]:
    command = [sys.executable, "-m", "benchmarks.picture_store", "--keep", str(count), str(size)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, peak, held = output.split()
    return float(seconds), float(peak) / 1024, float(held)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10,000 pictures, not 1,000")
    parser.add_argument("--keep", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.keep:
        keep(*arguments.keep)
        return
    count = 10_000 if arguments.full else 1_000
    small_took, small_peak, _ = measured(count // 10, SIZE)
    large_took, large_peak, held = measured(count, SIZE)
    bare, _, rows = measured(count, 0)
    table(
        "keeping pictures",
        [
            (f"{count:,} pictures of {SIZE // 1000} KB, s", f"{large_took:.1f}"),
            ("pictures a second", f"{count / large_took:.0f}"),
            (f"{count // 10:,} pictures, pictures a second", f"{count / 10 / small_took:.0f}"),
            ("rows without a picture a second", f"{count / bare:.0f}"),
            ("bytes a picture beside its own", f"{held / count - SIZE:.0f}"),
            ("bytes a row without a picture", f"{rows / count:.0f}"),
            (f"peak at {count // 10:,} pictures, MiB", f"{small_peak:.0f}"),
            (f"peak at {count:,} pictures, MiB", f"{large_peak:.0f}"),
            ("growth", limited(large_peak / small_peak, GROWTH)),
        ],
    )


if __name__ == "__main__":
    main()
