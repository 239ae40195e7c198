"""A Ray cluster of two nodes on this machine, each with a logical GPU, and a model that is asked on it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

INSTALLED = find_spec("ray") is not None
TOKEN = "a-token-of-the-tests-that-is-long-enough"  # noqa: S105  # no secret
NODE = {"num_cpus": 1, "num_gpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
PARALLEL = 4
ANSWERS = 216
"""What the small checklist asks: 6 objective cases of 4 answers, 8 subjective ones of 24."""

MODEL = '''
"""Counts what it is asked, by process; a file "poison" holds a text that kills whoever is asked it."""
import os
import time
from pathlib import Path

HERE = Path(__file__).parent

def ask(prompt):
    with (HERE / "begun").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    poison = HERE / "poison"
    if poison.exists() and poison.read_text() == prompt:
        os.kill(os.getpid(), 9)
    time.sleep(0.03)
    return "ABCD"[len(prompt) % 2] + "."

ask.factorfair_parallel = 4
'''


def start() -> Any:
    """A cluster whose first node is the head; it takes ten seconds."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN, RAY_USAGE_STATS_ENABLED="0")
    cluster = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    return cluster


class Ground:
    """A folder with the model and its store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec = f"python:{folder / 'model.py'}:ask"
        (folder / "model.py").write_text(MODEL, encoding="utf-8")

    @property
    def begun(self) -> Counter[int]:
        """How many requests each process has begun."""
        file = self.folder / "begun"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return Counter(map(int, filter(None, lines)))

    def rows(self, table: str) -> int:
        with closing(sqlite3.connect(self.folder / ".factorfair" / "responses.sqlite")) as store:
            (count,) = store.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608  # ours
            return int(count)

    def once(self, event: Callable[[], bool], act: Callable[[], object]) -> threading.Thread:
        """Act in a thread of its own as soon as something has happened."""

        def wait() -> None:
            while not event():
                time.sleep(0.01)
            act()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread
