"""Several processes with one file, one of which is killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pytest_factorfair.store import Store
from tests import forkserver

WORKERS = 8
ROWS = 150

INSERTS = """
import sys
from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store
from tests import keeping
url, worker, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()  # all start together
with Store.open(url) as store:
    waiting = [
        keeping.put(store, f"{worker}-{row}", Response("A" * 700), model="m", prompt="p", repeat=row)
        for row in range(rows)
    ]
    for done in waiting:
        done.result()
print("done")
"""

FLOOD = """
import os, sys
from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store
from tests import keeping
store = Store.open(sys.argv[1])
for row in range(10**9):
    done = keeping.put(store, f"k{row}", Response("A" * 700), model="m", prompt="p", repeat=row)
    done.add_done_callback(lambda _, row=row: os.write(1, b"k%d\\n" % row))
    if row % 50 == 0:
        done.result()
"""


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
