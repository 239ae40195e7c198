"""A whole FAIntbench run on the simulated painter: ``python -m benchmarks.faintbench [--full]``.

Pictures per second end to end, through pytest, the store and the report, beside a bare loop of the same
painter and detector, also in seconds of processor, which do not count waiting for the disk; and the peak
of memory.
``--full`` makes 4 pictures of each of the 2,654 prompts, else one.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from itertools import islice
from pathlib import Path

from benchmarks.harness import limited, run, table
from pytest_factorfair import models
from pytest_factorfair.checklist import cases, load, queries
from pytest_factorfair.detection import build
from pytest_factorfair.domain import Checklist, Request, Sampling

MODEL = "sim:ideal"
CHECKLIST = ("--factorfair-checklist=faintbench", "--factorfair-preset=paper")
BATCH = 20


def bare(checklist: Checklist, images: int) -> tuple[float, float]:
    """Seconds, and those of processor, to paint and to read all pictures, one prompt after another."""
    sampling = Sampling("balanced", 1, 1, seed=0, images=images, per_prompt=images)
    asked = [
        Request(query.prompt, query.repeat, query.seed)
        for case in cases(checklist, sampling)
        for query in queries(checklist, case, sampling)
    ]
    painter = models.build(MODEL, {}, checklists=(checklist,), custom={})
    detector = build("sim", custom={})
    detector.check(checklist.attributes)
    began, worked = time.perf_counter(), time.process_time()
    left = iter(asked)
    while batch := list(islice(left, BATCH)):
        pictures = asyncio.run(_painted(painter, batch))
        detector.read(pictures, checklist.attributes)
    return time.perf_counter() - began, time.process_time() - worked


async def _painted(painter: models.Model, batch: list[Request]) -> list[bytes]:
    return [(await painter.ask(request)).image or b"" for request in batch]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="4 pictures of each prompt, not 1")
    images = 4 if parser.parse_args().full else 1
    checklist = load("faintbench", truth="published", base=Path())
    alone, worked = bare(checklist, images)
    arguments = (*CHECKLIST, f"--factorfair-samples=images={images}")
    whole = run(MODEL, *arguments, "-p", "no:xdist")
    two = run(MODEL, *arguments, "-n2")
    pictures = 2654 * images
    rows = [
        ("pictures", f"{pictures:,}"),
        ("bare painter and detector, pictures/s", f"{pictures / alone:.0f}"),
        ("a run, pictures/s", f"{pictures / whole.wall:.0f}"),
        ("a run / bare, seconds", limited(whole.wall / alone, 1.3)),
        ("a run / bare, seconds of processor", f"{whole.cpu / worked:.2f}"),
        ("a run, minutes", limited(whole.wall / 60, 10)),
        ("a run, MiB", limited(whole.peak, 1024)),
        ("-n2, minutes", f"{two.wall / 60:.1f}"),
        ("-n2, MiB of the largest process", limited(two.peak, 1024)),
    ]
    table("FAIntbench on the painter", rows)


if __name__ == "__main__":
    main()
