"""Compare the time until the first request with the imports needed: ``python -m benchmarks.startup``."""

from __future__ import annotations

import argparse
import statistics
import sys

from benchmarks.harness import ROOT, limited, measured, run, table
from tests.servers import StubServer, started

NEEDED = "pytest, numpy, sqlalchemy, aiohttp, yaml"
# pydantic imports its modules only when one of its names is used.
STATEMENT = f"import {NEEDED}; from pydantic import BaseModel"
TIMES = {True: 9, False: 3}


def first_request(at: StubServer) -> float:
    """Seconds from the start of a run to its first request."""
    at.script()
    arguments = ("-p", "no:xdist", "-k", "objective-crime_rate-race-highest")
    cost = run("hosted_vllm/m", *arguments, base_url=at.base_url)
    return float(at.stats()["arrived"][0]) - cost.began


def imports() -> float:
    return measured([sys.executable, "-c", STATEMENT], cwd=ROOT).wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the median of nine, not of three")
    times = TIMES[parser.parse_args().full]
    with started() as at:
        first_request(at)  # compiles everything
        pairs = [(imports(), first_request(at)) for _ in range(times)]
    importing, requesting = (statistics.median(column) for column in zip(*pairs, strict=True))
    table(
        f"start-up, the median of {times}: seconds",
        [
            (f"import {NEEDED}, pydantic", f"{importing:.2f}"),
            ("start to first request", f"{requesting:.2f}"),
            ("ratio", limited(requesting / importing, 1.5)),
        ],
    )


if __name__ == "__main__":
    main()
