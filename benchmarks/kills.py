"""Kill runs at random moments and count calls at the server: ``python -m benchmarks.kills [KILLS]``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.harness import table
from tests.kills import run
from tests.servers import started

COPIES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=100)
    kills: int = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as folder, started() as at:
        ground = run(kills, Path(folder), at, copies=min(COPIES, kills))
    table(
        f"{kills} rounds of kills",
        [
            ("kills", ", ".join(f"{number} {name}" for name, number in sorted(ground.kills.items()))),
            ("queries, all of them with a row", f"{ground.queries:,}"),
            ("calls at the server", f"{ground.calls:,}"),
            ("asked again", f"{ground.calls - ground.queries:,}"),
            ("in flight at the kills", f"{ground.in_flight:,}"),
            (
                "copies with cut logs: rows + calls",
                ", ".join(f"{rows} + {calls}" for rows, calls in ground.copies),
            ),
        ],
    )


if __name__ == "__main__":
    main()
