"""A Ray cluster of two nodes on this machine, each with a logical GPU, and a model that runs on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import pytest_factorfair
from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import FactorfairError
from tests.extras import needs
from tests.project import DATA, INTERRUPTIBLE, WITHOUT_OTHERS, Project, program

CLUSTER = [
    needs("ray"),
    # Warnings of the installed versions of libraries, which do not concern us.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]
"""The marks for tests that need the cluster, besides ``slow``, which CI looks for in the files of tests."""

TOKEN = "a-token-of-the-tests-that-is-long-enough"  # noqa: S105  # no secret
NODE = {"num_cpus": 1, "num_gpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
PARALLEL = 4
ANSWERS = 216
"""The number of queries of the small checklist: 6 objective cases by 4 answers, 8 subjective ones by 24."""

MODEL = program("counted_model")

DETECTOR = program("counted_detector")


class Nodes:
    """The nodes of the cluster; starting them takes ten seconds."""

    def __init__(self) -> None:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN, RAY_USAGE_STATS_ENABLED="0")
        self._cluster = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=NODE)
        self._second_node = self._cluster.add_node(**NODE)

    @property
    def executor(self) -> str:
        return f"ray:{self._cluster.address}"

    @contextmanager
    def another(self) -> Iterator[None]:
        """Add a third node during the block."""
        node = self._cluster.add_node(**NODE)
        yield
        self._cluster.remove_node(node, allow_graceful=False)

    def lose_one(self) -> None:
        self._cluster.remove_node(self._second_node, allow_graceful=False)

    def join(self) -> None:
        """Connect this process to the cluster, so that runs in it need not connect, which takes seconds."""
        import_module("ray").init(address=self._cluster.address, log_to_driver=False, logging_level="ERROR")

    @property
    def are_joined(self) -> bool:
        return bool(import_module("ray").is_initialized())

    def leave(self) -> None:
        """Disconnect this process, because Ray kills processes whose cluster has lost its head."""
        import_module("ray").shutdown()

    def kill_head(self) -> None:
        (head,) = self._cluster.head_node.all_processes["gcs_server"]
        os.kill(head.process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.leave()
        for node in self._cluster.list_all_nodes():
            (raylet,) = node.all_processes["raylet"]
            tasks = Path(f"/proc/{raylet.process.pid}/task").glob("*/children")
            agents = [int(pid) for task in tasks for pid in task.read_text().split()]
            node.kill_all_processes(check_alive=False, allow_graceful=False)
            for agent in agents:  # without a head, these would run for minutes after their node has ended
                with suppress(ProcessLookupError):
                    os.kill(agent, signal.SIGKILL)


class Ground:
    """The working directory of a test, with the small checklist and a model that runs on the cluster."""

    def __init__(self, folder: Path, nodes: Nodes) -> None:
        self.folder = folder
        self.spec = f"python:{folder / 'model.py'}:ask"
        self.nodes = nodes
        shutil.copy(DATA / "small.yaml", folder)
        (folder / "model.py").write_text(MODEL, encoding="utf-8")
        (folder / "detector.py").write_text(DETECTOR, encoding="utf-8")

    def run(self, model: str = "", **settings: Any) -> Summary:
        """Run in this process; the report folder is named after the executor, so that two can be compared."""
        sizes: dict[str, Any] = {
            "checklist": ["small.yaml"],
            "samples": "24,objective=4",
            "estimator": "plugin",
        }
        replicas = {None: 1, "gpus=0.5": 4}.get(settings.get("replicas", 2), 2)
        (self.folder / "wanted").write_text(str(replicas), encoding="utf-8")
        return pytest_factorfair.run(
            model or self.spec, **(sizes | {"executor": self.nodes.executor, "replicas": 2} | settings)
        ).summary

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        """Start a run in a separate process."""
        (self.folder / "wanted").write_text("2", encoding="utf-8")
        return subprocess.Popen(
            [
                *(sys.executable, "-c", INTERRUPTIBLE, *WITHOUT_OTHERS, "-q", "-p", "no:cacheprovider"),
                *Project.arguments(self.spec),
                *(f"--factorfair-executor={self.nodes.executor}", "--factorfair-replicas=2", *options),
            ],
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def begun(self) -> Counter[int]:
        """The number of requests that each replica has begun, by process."""
        file = self.folder / "begun"
        lines = file.read_text(encoding="utf-8").split() if file.exists() else []
        return Counter(map(int, lines))

    def is_under_way(self) -> bool:
        """Whether both replicas have been asked a few times."""
        return len(self.begun) == 2 and self.begun.total() >= 30

    def once(self, event: Callable[[], bool], act: Callable[[], object]) -> threading.Thread:
        """Start a thread that acts as soon as an event has happened."""

        def wait() -> None:
            while not event():
                time.sleep(0.01)
            act()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread

    def rows(self, table: str) -> int:
        with closing(sqlite3.connect(self.folder / ".factorfair" / "responses.sqlite")) as store:
            (count,) = store.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608  # ours
            return int(count)

    def report(self, folder: str = ".factorfair/report") -> Mapping[str, Any]:
        report: Mapping[str, Any] = json.loads((self.folder / folder / "report.json").read_text("utf-8"))
        return report


def ending(error: type[FactorfairError], ground: Ground, **settings: object) -> str:
    """The message of the error with which a run ends."""
    try:
        ground.run(**settings)  # type: ignore[arg-type]  # the model's spec is one of them
    except error as line:
        return str(line)
    raise AssertionError("the run did not end")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    started = Nodes()
    started.join()
    yield started
    started.end()


@pytest.fixture
def ground(tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.chdir(tmp_path)
    return Ground(tmp_path, nodes)
