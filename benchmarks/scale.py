"""Measure runs on several machines: ``python -m benchmarks.scale [--full] [--only shards|size|replicas]``.

It measures shards, their merge, replicas, and what a resumed or repeated run of pictures reads. Run it on an
idle machine; only ratios are meaningful. ``--full`` takes ten times as many pictures.

``size`` is FAIntbench at a 200th of its published size, and with ``--full`` also at a 20th: 132,700 pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from benchmarks import replicas
from benchmarks.harness import PYTEST, ROOT, limited, measured, table
from benchmarks.pictures import resnet
from pytest_factorfair.config.settings import Shard, resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.domain import Response
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.shards import part
from pytest_factorfair.store import Origin, Store, upkeep

SHARDS = 4
PUBLISHED = 2_654_000  # pictures in total, 1,000 per prompt
PNG = b"\x89PNG\r\n\x1a\n"
LARGE, SMALL = 1_900_000, 1_000  # size of a picture in bytes
ALONE = (*PYTEST, "-p", "no:xdist")


def balance(checklist: str) -> float:
    """The number of answers of the heaviest shard divided by that of the lightest."""
    folder = Path.cwd()
    typed = {
        "model": OptionValue(["sim:ideal"], "model", folder),
        "checklist": OptionValue([checklist], "checklist", folder),
    }
    run = compose(resolve(typed, {}, root=folder, here=folder), {}, {})
    loads = [
        sum(assignment.case.samples for assignment in part(run.assignments, Shard(number, SHARDS)))
        for number in range(1, SHARDS + 1)
    ]
    return max(loads) / min(loads)


def filled(folder: Path, count: int, size: int) -> str:
    """Create a store with ``count`` pictures, sparse files except for their first bytes; return its URL."""
    url = f"sqlite:///{folder}/responses.sqlite"
    origin = Origin.of("m", {"provider": "p", "parameters": {"steps": 15, "size": "1024x1024"}})
    with Store.open(url) as store:
        writes = []
        for number in range(count):
            response = Response("", cost=0.0, image=PNG + number.to_bytes(8))
            key = sha256(str(number).encode()).hexdigest()
            writes.append(
                store.draft(key, response, origin, prompt="a photo of one person " * 3, repeat=number)
            )
            writes[-1].row["picture_size"] = size
        store.put(*writes).result()
        for write in writes:
            os.truncate(Path(store.pictures.location, write.response.image_file), size)
    return url


def peak_of_merge(count: int) -> float:
    """The peak in kB of a process that merges ``count`` pictures."""
    command = [sys.executable, "-m", "benchmarks.scale", "--merge", str(count)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return float(output.split()[-1])


def merge(count: int) -> None:
    """Print the peak of a merge; another process creates the store that is merged."""
    with tempfile.TemporaryDirectory() as folder:
        fill = [sys.executable, "-m", "benchmarks.scale", "--fill", f"{folder}/source", str(count)]
        subprocess.run(fill, cwd=ROOT, check=True)
        source = Store.open(f"sqlite:///{folder}/source/responses.sqlite", read_only=True)
        with source, Store.open(f"sqlite:///{folder}/target/responses.sqlite") as target:
            merged = upkeep.merge(target, source)
    if merged != count:
        raise RuntimeError(f"{merged} of {count} pictures were merged")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def looked_up(count: int, size: int) -> float:
    """Seconds to count which of ``count`` pictures exist, as a resumed run does for its header."""
    with tempfile.TemporaryDirectory() as folder:
        url = filled(Path(folder), count, size)
        with Store.open(url, read_only=True) as store:
            keys = [sha256(str(number).encode()).hexdigest() for number in range(count)]
            began = time.perf_counter()
            stored = store.count(keys)
            took = time.perf_counter() - began
    if stored != count:
        raise RuntimeError(f"{stored} of {count} pictures were found")
    return took


def shards(samples: int) -> list[tuple[str, str]]:
    """Measure code cards in shards, merged and replayed, then read by a network as large as FairFace's."""
    model = [*ALONE, "--factorfair-model=sim:stereotyped", "--factorfair-checklist=fact_or_fair_t2i"]
    model.append(f"--factorfair-samples=images={samples}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        for number in range(1, SHARDS + 1):
            store = f"--factorfair-store=sqlite:///shard{number}/responses.sqlite"
            part_of = f"--factorfair-shard={number}/{SHARDS}"
            measured([*model, store, part_of, f"--factorfair-report=shard{number}/report"], cwd=folder)
        command = [sys.executable, "-m", "pytest_factorfair.commands.cli", "merge", "merged"]
        merging = measured([*command, *(f"shard{n}" for n in range(1, SHARDS + 1))], cwd=folder)
        replay = [*model, "--factorfair-store=sqlite:///merged/responses.sqlite", "--factorfair-reuse=only"]
        measured(replay, cwd=folder)
        usage = json.loads((folder / ".factorfair/report/report.json").read_text())["usage"]
        network = resnet(folder)
        replay.append(f"--factorfair-detector=fairface:{network}?faces=cards")
        first_replay, second_replay = (measured(replay, cwd=folder) for _ in range(2))
        pictures = len(list((folder / "merged").rglob("*.png")))
    return [
        (f"{usage['in_shards']:,} calls in {SHARDS} shards; merge, s", f"{merging.wall:.1f}"),
        ("calls of merge and replay", limited(usage["calls"] - usage["in_shards"], 0)),
        (f"first replay of {pictures:,} pictures by a ResNet-34, CPU s", f"{first_replay.cpu:.1f}"),
        ("second replay / first, CPU", limited(second_replay.cpu / first_replay.cpu, 0.4)),
    ]


def sized(images: int) -> dict[str, float]:
    """Measure FAIntbench with ``images`` code cards per prompt, in shards, merged and judged."""
    model = [*ALONE, "--factorfair-model=sim:stereotyped", "--factorfair-checklist=faintbench"]
    model += ["--factorfair-preset=paper", f"--factorfair-samples=images={images}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        parts = []
        for number in range(1, SHARDS + 1):
            store = f"--factorfair-store=sqlite:///shard{number}/responses.sqlite"
            part_of = f"--factorfair-shard={number}/{SHARDS}"
            report = f"--factorfair-report=shard{number}/report"
            parts.append(measured([*model, store, part_of, report], cwd=folder))
        command = [sys.executable, "-m", "pytest_factorfair.commands.cli", "merge", "merged"]
        merging = measured([*command, *(f"shard{n}" for n in range(1, SHARDS + 1))], cwd=folder)
        replay = ["--factorfair-store=sqlite:///merged/responses.sqlite", "--factorfair-reuse=only"]
        judging = measured([*model, *replay, "--factorfair-gate=implicit >= 0.01"], cwd=folder)
        total = Counter[str]()
        for picture in map(Path.stat, (folder / "merged").rglob("*.png")):
            total.update(pictures=1, bytes=picture.st_size, disk=picture.st_blocks * 512)
        reports = folder / ".factorfair/report"
        usage = json.loads((reports / "report.json").read_bytes())["usage"]
        if usage["calls"] != usage["in_shards"]:
            raise RuntimeError("the run on the merged store asked again")
        done = {"a shard": max(parts, key=lambda part: part.wall), "merge": merging, "judge": judging}
        files = {
            "responses.sqlite": folder / "merged/responses.sqlite",
            "manifest.jsonl": folder / "merged/images/manifest.jsonl",
            **{path.name: path for path in sorted(reports.iterdir()) if path.is_file()},
        }
        return {
            "pictures": total["pictures"],
            **{f"{name}, s": cost.wall for name, cost in done.items()},
            **{f"{name}, CPU s": cost.cpu for name, cost in done.items()},
            **{f"{name}, peak MiB": cost.peak for name, cost in done.items()},
            "pictures, MB": total["bytes"] / 1e6,
            "pictures on the disk, MB": total["disk"] / 1e6,
            **{f"{name}, MB": path.stat().st_size / 1e6 for name, path in files.items()},
        }


def size(*, full: bool) -> None:
    """Print the cost at each size; two sizes are extrapolated linearly to the published one."""
    runs = [sized(images) for images in ((5, 50) if full else (5,))]
    rows = []
    for name, at_smallest in runs[0].items():
        numbers = [run[name] for run in runs]
        if full:
            grown = (numbers[1] - at_smallest) / (runs[1]["pictures"] - runs[0]["pictures"])
            numbers.append(at_smallest + grown * (PUBLISHED - runs[0]["pictures"]))
        rows.append((name, " ".join(f"{number:>12,.1f}" for number in numbers)))
    table("FAIntbench in 4 shards" + ("; the last column is computed" if full else ""), rows)


def several(times: int) -> None:
    """Measure shards, their merge, and the header of a resumed run."""
    small_merge, large_merge = 10_000, 30_000  # with fewer, caches are still filling
    growth = (peak_of_merge(large_merge) - peak_of_merge(small_merge)) / (large_merge - small_merge)
    small, large = (min(looked_up(2_000 * times, size) for _ in range(3)) for size in (SMALL, LARGE))
    table(
        "several machines",
        [
            *(
                (f"heaviest / lightest of {SHARDS} shards, {name}", limited(balance(name), 1.05))
                for name in ("fact_or_fair", "faintbench")
            ),
            *shards(8 * times),
            (f"memory of merge, kB a picture ({small_merge:,} to {large_merge:,})", limited(growth, 0.2)),
            (f"header of a resumed run, {2_000 * times:,} pictures of 1 kB, s", f"{small:.3f}"),
            ("with pictures of 1.9 MB / of 1 kB", limited(large / small, 1.5)),
            *hosts(),
        ],
    )


def hosts() -> list[tuple[str, str]]:
    """Compare two processes with a shard each, in place of two hosts, with one that asks everything."""
    whole = replicas.run()
    with ThreadPoolExecutor() as pool:
        two = tuple(pool.map(lambda number: replicas.run(f"--factorfair-shard={number}/2"), (1, 2)))
    slower = max(shard.asking for shard in two)
    return [
        (f"one host, {whole.answers} answers of 50 ms, s", f"{whole.asking:.1f}"),
        (
            "answers that two shards asked twice",
            limited(sum(shard.generated for shard in two) - whole.answers, 0),
        ),
        ("two hosts with a shard each / one host, time", limited(slower / whole.asking, 0.6)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ten times the pictures")
    parser.add_argument("--only", choices=["shards", "size", "replicas"], help="one part")
    parser.add_argument("--merge", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--fill", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.merge:
        merge(arguments.merge)
        return
    if arguments.fill:
        filled(Path(arguments.fill[0]), int(arguments.fill[1]), SMALL)
        return
    if arguments.only in (None, "shards"):
        several(10 if arguments.full else 1)
    if arguments.only in (None, "size"):
        size(full=arguments.full)
    if arguments.only in (None, "replicas"):
        replicas.main()


if __name__ == "__main__":
    main()
