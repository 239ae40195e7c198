"""Several processes with one file, one of which is killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pytest_factorfair.store import Store
from tests import forkserver
from tests.project import program

WORKERS = 8
ROWS = 40

INSERTS = program("insert_rows")

FLOOD = program("flood_of_rows")


def test_eight_processes_lose_nothing_and_meet_no_lock(url: str) -> None:
    processes = [
        subprocess.Popen(
            [forkserver.python(), "-c", INSERTS, url, str(worker), str(ROWS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for worker in range(WORKERS)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120) for process in processes]
    assert outputs == [("done\n", "")] * WORKERS
    with Store.open(url) as store:
        assert (
            store.count(f"{worker}-{row}" for worker in range(WORKERS) for row in range(ROWS))
            == WORKERS * ROWS
        )


def test_every_row_that_was_committed_outlives_a_kill(url: str, file: Path) -> None:
    process = subprocess.Popen([forkserver.python(), "-c", FLOOD, url], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as stdout:
        seen = [stdout.readline() for _ in range(1000)]
        process.kill()
        seen += stdout.readlines()
    assert process.wait() == -9
    committed = {line.decode().strip() for line in seen if line.endswith(b"\n")}
    assert len(committed) >= 1000
    with Store.open(url) as store:
        assert store.count(committed) == len(committed)
        assert set(store.responses(["k0"])) == {"k0"}
    assert file.exists()
