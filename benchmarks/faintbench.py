"""A whole FAIntbench run on the simulated painter: ``python -m benchmarks.faintbench [--full]``.

It measures pictures per second end to end, through pytest, the store and the report, compared with a bare
loop of the same painter and detector; the same in CPU seconds, which exclude waiting for the disk; and the
peak memory. It also prints the unavoidable part of the difference: storing the pictures just as safely, and
running the same number of plain pytest items with as many fixtures. ``--full`` makes 4 pictures of each of
the 2,654 prompts instead of one. The gate fails if pictures do not show what was requested.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.harness import limited, measured, run, table
from pytest_factorfair import models
from pytest_factorfair.benchmarks import cases, load, queries
from pytest_factorfair.detection import build
from pytest_factorfair.domain import Checklist, Request, Response, Sampling
from pytest_factorfair.store import Origin, Store

MODEL = "sim:ideal"
CHECKLIST = (
    "--factorfair-checklist=faintbench",
    "--factorfair-preset=paper",
    "--factorfair-gate=explicit >= 0.8",
)
BATCH = 20
PROMPTS = 2654

ITEMS = f"""
import pytest

@pytest.fixture
def assignment(request):
    return request.param

@pytest.fixture
def case(assignment):
    return assignment

@pytest.fixture
def model(assignment, pytestconfig):
    return assignment

@pytest.fixture
def detector(pytestconfig):
    return None

@pytest.fixture
def ask(assignment, model, detector, request):
    return assignment

@pytest.fixture
def record(request):
    return request

@pytest.mark.parametrize("assignment", range({PROMPTS}), indirect=True)
def test_nothing(case, ask, record):
    pass
"""
"""A test with as many items as prompts, and with fixtures that depend on each other like ours."""

Keep = Callable[[Sequence[Request], Sequence[Response]], None]


def bare(checklist: Checklist, images: int, keep: Keep) -> tuple[float, float]:
    """Wall and CPU seconds to paint and read all pictures, one prompt after another."""
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
    pending = iter(asked)
    while batch := list(islice(pending, BATCH)):
        painted = asyncio.run(_painted(painter, batch))
        keep(batch, painted)
        detector.read([picture.image or b"" for picture in painted], checklist.attributes)
    return time.perf_counter() - began, time.process_time() - worked


def stored(checklist: Checklist, images: int) -> tuple[float, float]:
    """Wall and CPU seconds like ``bare``, with every picture stored on disk before it is read."""
    origin = Origin.of(MODEL, {})
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/responses.sqlite") as store:

        def keep(asked: Sequence[Request], painted: Sequence[Response]) -> None:
            drafts = [
                store.draft(
                    f"{request.prompt} {request.repeat}",
                    response,
                    origin,
                    prompt=request.prompt,
                    repeat=request.repeat,
                )
                for request, response in zip(asked, painted, strict=True)
            ]
            store.put(*drafts).result()

        return bare(checklist, images, keep)


def dropped(asked: Sequence[Request], painted: Sequence[Response]) -> None:
    """Keep nothing."""


async def _painted(painter: models.Model, batch: list[Request]) -> list[Response]:
    return [await painter.ask(request) for request in batch]


def items() -> float:
    """Seconds that pytest alone takes for the same number of items."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_items.py").write_text(ITEMS)
        plugins = ("no:pytest_factorfair", "no:hypothesispytest", "no:anyio", "no:xdist", "no:cacheprovider")
        disabled = [part for plugin in plugins for part in ("-p", plugin)]
        return measured([sys.executable, "-m", "pytest", "-q", *disabled], cwd=Path(folder)).wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="4 pictures of each prompt, not 1")
    images = 4 if parser.parse_args().full else 1
    checklist = load("faintbench", truth="published", base=Path())
    alone, worked = bare(checklist, images, dropped)
    with_store, _ = stored(checklist, images)
    pytests = items()
    arguments = (*CHECKLIST, f"--factorfair-samples=images={images}")
    whole = run(MODEL, *arguments, "-p", "no:xdist")
    two = run(MODEL, *arguments, "-n2")
    pictures = PROMPTS * images
    rows = [
        ("pictures", f"{pictures:,}"),
        ("bare painter and detector, pictures/s", f"{pictures / alone:.0f}"),
        ("the same, kept in a store, pictures/s", f"{pictures / with_store:.0f}"),
        ("as many items of pytest alone, seconds", f"{pytests:.1f}"),
        ("a run, pictures/s", f"{pictures / whole.wall:.0f}"),
        ("a run / bare, seconds", limited(whole.wall / alone, 1.3)),
        ("a run / bare, kept, and as many items", f"{whole.wall / (with_store + pytests):.2f}"),
        ("a run / bare, seconds of processor", f"{whole.cpu / worked:.2f}"),
        ("a run, minutes", limited(whole.wall / 60, 10)),
        ("a run, MiB", limited(whole.peak, 1024)),
        ("-n2, minutes", f"{two.wall / 60:.1f}"),
        ("-n2, MiB of the largest process", limited(two.peak, 1024)),
    ]
    table("FAIntbench on the painter", rows)


if __name__ == "__main__":
    main()
