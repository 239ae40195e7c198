"""Finished runs for tests that only read reports: each run happens once per session, for all workers."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests import forkserver
from tests.project import DATA, FEW, FEW_PORTRAITS, PYTEST, split

Finished: TypeAlias = Callable[..., Path]
"""A function from the arguments of a run to the folder of its reports."""

TEXT = (
    "--factorfair-model=sim:stereotyped", "--factorfair-model=sim:uniform", f"--factorfair-checklist={FEW}",
    "--factorfair-samples=72,objective=24", "--factorfair-gate=s_e[base,gender] >= 0.9",
)  # fmt: skip
FAILING = (
    "--factorfair-model=sim:stereotyped?strength=0.6&refuse=0.02", f"--factorfair-checklist={FEW}",
    "--factorfair-gate=default", "FACTORFAIR_LOOKS=1",
)  # fmt: skip
DEPENDING = (
    "--factorfair-model=sim:context_following?strength=0.8&attribute=race&when=context:attribution&refuse=0.02",
    f"--factorfair-checklist={FEW}", "--factorfair-gate=default", "FACTORFAIR_LOOKS=1",
)  # fmt: skip
REFUSING = (
    "--factorfair-model=sim:refusing?rate=0.2", f"--factorfair-checklist={FEW}",
    "--factorfair-samples=72,objective=24", "--factorfair-gate=refusal_rate <= 0.05",
)  # fmt: skip
PAINTED = (
    "--factorfair-model=sim:stereotyped?strength=0.9&refuse=0.04", "--factorfair-checklist=faintbench",
    f"--factorfair-checklist={FEW_PORTRAITS}", "--factorfair-preset=smoke",
    "--factorfair-samples=images=50", "--factorfair-gate=implicit[gender,characteristic] >= 0.99",
)  # fmt: skip
FEW_PAINTED = (*PAINTED[:-2], "--factorfair-samples=images=4")
PICTURES = ("--factorfair-model=sim:ideal", "--factorfair-checklist=faintbench", "--factorfair-preset=smoke")
BOUNDED = (
    f"--factorfair-checklist={DATA / 'small.yaml'}", "FACTORFAIR_ESTIMATOR=corrected",
    "--factorfair-samples=72,objective=24",
)  # fmt: skip
IDEAL = ("--factorfair-model=sim:ideal", *BOUNDED, "--factorfair-gate=s_fact[objective,gender] >= 0.8")
"""The runs that several modules use. The text run has two models; with BOUNDED, scores have intervals."""

ENVIRONMENT = forkserver.environment()
"""The environment of these runs, so that variables of the test that starts them have no effect."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Finished:
    base = tmp_path_factory.getbasetemp()
    # The folder of a worker of pytest-xdist is inside a folder that all workers share.
    shared = (base.parent if hasattr(pytestconfig, "workerinput") else base) / "finished"

    def run(*arguments: str) -> Path:
        folder = shared / hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            problem_file = folder / "problem"
            if not problem_file.exists():  # or another attempt would resume from this store
                problem_file.write_text("this run was interrupted")
                problem_file.write_text(_problem(folder, arguments))
            problem = problem_file.read_text()
        assert not problem, problem
        return folder / ".factorfair" / "report"

    return run


def _problem(folder: Path, arguments: tuple[str, ...]) -> str:
    """The output of the run if it failed, other than by its gates; otherwise empty."""
    variables, arguments = split(arguments)
    command = [forkserver.python(), *PYTEST, "-q", "-rfE", f"--rootdir={folder}", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT | variables, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    by_tests = any(line.startswith(("FAILED factorfair::", "ERROR factorfair::")) for line in lines)
    by_gates = any(line.startswith(("release: FAIL", "release: UNDECIDED")) for line in lines)
    by_gates &= done.returncode == pytest.ExitCode.TESTS_FAILED and not by_tests
    fine = not done.returncode or by_gates
    return "" if fine else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
