"""The memory of a run, and whether it grows: ``python -m benchmarks.memory [--full] [--only served|large]``.

It measures the peak resident set of a run's process; with ``-n2``, of its largest process. The stub server
has no latency. ``--full`` asks 10,000 and 45,600 queries instead of 2,700 and 10,900.

``large`` measures by how much a run grows with each answer of simulated models beyond 60,000.
"""

from __future__ import annotations

import argparse

from benchmarks.harness import limited, run, table
from tests.servers import StubServer, started

MOST = 400
SIZES = {True: (66, 300), False: (18, 72)}  # answers per topic and context, of which there are 152


def peak(at: StubServer, samples: int, *arguments: str) -> tuple[int, float]:
    """The calls of a run, and its peak in MiB."""
    at.script()
    size = f"--factorfair-samples={samples},objective=4"
    cost = run("hosted_vllm/m", "-m", "subjective", size, *arguments, base_url=at.base_url)
    return at.stats()["requests"], cost.peak


def growth(checklist: str, prompts: int, sizes: tuple[int, int], samples: str) -> float:
    """By how many kB an additional answer raises the peak; ``samples`` is a template for the sizes."""
    peaks = [
        run(
            "sim:ideal",
            f"--factorfair-checklist={checklist}",
            "--factorfair-preset=paper",
            f"--factorfair-samples={samples.format(size)}",
        ).peak
        for size in sizes
    ]
    return (peaks[1] - peaks[0]) * 1024 / (prompts * (sizes[1] - sizes[0]))


def large() -> None:
    text = growth("fact_or_fair", 152, (400, 1200), "{},objective=4")
    pictures = growth("faintbench", 2654, (24, 48), "images={}")
    table(
        "growth of the peak, kB",
        [("a text answer", limited(text, 0.2)), ("a picture", limited(pictures, 0.6))],
    )


def served(*, full: bool) -> None:
    small, large = SIZES[full]
    rows: list[tuple[str, str]] = []
    with started() as at:
        for workers in (("-p", "no:xdist"), ("-n2",)):
            small_calls, small_peak = peak(at, small, *workers)
            large_calls, large_peak = peak(at, large, *workers)
            name = " ".join(workers)
            rows += [
                (f"{name}: {small_calls:,} calls, MiB", f"{small_peak:.0f}"),
                (f"{name}: {large_calls:,} calls, MiB", limited(large_peak, MOST)),
                (f"{name}: growth", limited(large_peak / small_peak, 1.1)),
            ]
    table("peak memory", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 45,600 calls, not 10,900")
    parser.add_argument("--only", choices=["served", "large"], help="one of the tables")
    options = parser.parse_args()
    if options.only in (None, "served"):
        served(full=options.full)
    if options.only in (None, "large"):
        large()


if __name__ == "__main__":
    main()
