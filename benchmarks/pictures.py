"""Measure how many pictures detectors read per second, in batches and one by one, and whether memory grows.

    python -m benchmarks.pictures [--full]     --full reads 10,000 pictures for the memory instead of 2,000

There are code cards for the packaged network, with which batches must be 3 times as fast as single pictures,
and pictures for a ResNet-34 of FairFace's size with random weights, where the network takes almost all of the
time. Run it on an idle machine, because the threads share the processor with the network. Memory is the peak
of a process that reads few pictures, and of one that reads many.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.harness import ROOT, at_least, limited, measured, table
from pytest_factorfair.detection import Detector, build, model_files
from pytest_factorfair.domain import Attribute
from pytest_factorfair.pictures.cards import paint
from tests.resnet34 import random_weights

SEED = 20261122
# The number of pictures and rounds: many short rounds, some of which other processes do not disturb.
CARDS, PORTRAITS = (160, 60), (32, 4)
FASTER = 3.0
FEW, MANY, ALL = 500, 2_000, 10_000
GROWTH = 1.1
RACE = Attribute("race", ("Asian", "Black", "Hispanic", "White"), {}, {})
GENDER = Attribute("gender", ("Female", "Male"), {}, {})


def pictures(count: int) -> list[bytes]:
    return [paint({}, seed=SEED + number) for number in range(count)]


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def rates(detector: Detector, count: int, rounds: int) -> tuple[float, float]:
    """Pictures per second one by one and all at once, measured alternately; the best of several rounds."""
    encoded = pictures(count)
    detector.read(encoded[:2], (RACE, GENDER))  # loads the model
    single, batched = [], []
    for _ in range(rounds):
        single.append(seconds(lambda: [detector.read([picture], (RACE, GENDER)) for picture in encoded]))
        batched.append(seconds(lambda: detector.read(encoded, (RACE, GENDER))))
    return count / min(single), count / min(batched)


def resnet(folder: Path) -> Path:
    """FairFace's network with random weights."""
    path = folder / "resnet34.onnx"
    path.write_bytes(model_files.serialised(random_weights(), where="random weights"))
    return path


def peak(count: int) -> float:
    """The peak in MiB of a process that reads ``count`` pictures, painted when they are needed."""
    code = f"from benchmarks.pictures import read_many; read_many({count})"
    return measured([sys.executable, "-c", code], cwd=ROOT).peak


def read_many(count: int) -> None:
    """Read ``count`` pictures in portions as large as a case, as a run does; measured by ``peak``."""
    detector = build("sim", custom={})
    for portion in _portions(count, 100):
        detector.read(portion, (RACE, GENDER))


def _portions(count: int, size: int) -> Iterator[list[bytes]]:
    for start in range(0, count, size):
        yield [paint({}, seed=SEED + number) for number in range(start, start + size)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10,000 pictures for the memory, not 2,000")
    count = ALL if parser.parse_args().full else MANY
    small_peak, large_peak = peak(FEW), peak(count)  # first: a child's peak includes its parent's at the fork
    rows = [
        (f"peak memory over {FEW:,} pictures, MiB", f"{small_peak:.0f}"),
        (f"peak memory over {count:,} pictures, MiB", f"{large_peak:.0f}"),
        ("growth", limited(large_peak / small_peak, GROWTH)),
    ]
    single, batched = rates(build("sim", custom={}), *CARDS)
    rows += [
        ("code cards one by one, pictures a second", f"{single:,.0f}"),
        ("code cards in batches", f"{batched:,.0f}"),
        ("ratio", at_least(batched / single, FASTER)),
    ]
    with TemporaryDirectory() as folder:
        network = resnet(Path(folder))
        single, batched = rates(build(f"fairface:{network}?faces=whole&device=cpu", custom={}), *PORTRAITS)
    rows += [
        ("ResNet-34 one by one, pictures a second", f"{single:,.1f}"),
        ("ResNet-34 in batches", f"{batched:,.1f}"),
        ("ratio", f"{batched / single:.2f}"),
    ]
    table("reading pictures", rows)


if __name__ == "__main__":
    main()
