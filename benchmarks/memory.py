"""The memory of a run, and whether it grows: ``python -m benchmarks.memory [--full]``.

The peak resident set of a run's process; with ``-n2``, of its largest process. The stub server has no
latency. ``--full`` asks 10,000 and 45,600 queries, else 2,700 and 10,900.
"""

from __future__ import annotations

import argparse

from benchmarks.harness import limited, run, table
from tests.servers import StubServer, started

MOST = 400
SIZES = {True: (66, 300), False: (18, 72)}  # answers per topic and context; 152 of those


def peak(at: StubServer, samples: int, *arguments: str) -> tuple[int, float]:
    """The calls of a run, and its peak in MiB."""
    at.script()
    size = f"--factorfair-samples={samples},objective=4"
    cost = run("hosted_vllm/m", "-m", "subjective", size, *arguments, base_url=at.base_url)
    return at.stats()["requests"], cost.peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 45,600 calls, not 10,900")
    small, large = SIZES[parser.parse_args().full]
    rows: list[tuple[str, str]] = []
    with started() as at:
        for workers in (("-p", "no:xdist"), ("-n2",)):
            few, least = peak(at, small, *workers)
            many, most = peak(at, large, *workers)
            name = " ".join(workers)
            rows += [
                (f"{name}: {few:,} calls, MiB", f"{least:.0f}"),
                (f"{name}: {many:,} calls, MiB", limited(most, MOST)),
                (f"{name}: growth", limited(most / least, 1.1)),
            ]
    table("peak memory", rows)


if __name__ == "__main__":
    main()
