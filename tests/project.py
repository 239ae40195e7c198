"""A user's project in a temporary folder, run with pytest as the user would."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pytest_factorfair.reports.json_report import whole_cases
from tests import forkserver

DATA = Path(__file__).parent / "data"

FEW, FEW_PORTRAITS = DATA / "few.yaml", DATA / "few_portraits.yaml"
"""The small checklists: the shipped ones with two statistics, for tests that do not depend on the number."""

BASE = DATA / "base.yaml"
"""The shipped checklist with all statistics in one context, for verdicts that depend on their number."""

DISTRIBUTIONS: tuple[tuple[str, ...], ...] = (("-n0",), ("-n2",), ("-p", "no:xdist"))
"""The three ways to distribute a run, in which behaviour must be the same."""

RUN_TABLES = ("runs", "process_accounts", "endpoints", "owners", "claims")

CASES = 14
"""The number of cases of the small checklist: 6 objective and 8 subjective."""

WITHOUT_OTHERS = ("-p", "no:hypothesispytest", "-p", "no:anyio")
"""Options that disable plugins with slow imports in every process: Hypothesis (at exit) and anyio."""

PLUGIN = "FACTORFAIR_ESTIMATOR=plugin"
"""The estimator of small runs: with so few answers, intervals are too wide to decide."""

PYTEST = ("-m", "pytest", *WITHOUT_OTHERS)
"""The arguments of the interpreter that run pytest in a separate process."""

INTERRUPTIBLE = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with it ignored
sys.exit(pytest.main(sys.argv[1:]))
"""
"""The same as a program, for tests that interrupt it."""

TOGETHER = """
import os, time
from pathlib import Path

def pytest_collection_finish():
    Path(f"began-{os.getpid()}").touch()
    while len(list(Path().glob("began-*"))) < 2:
        time.sleep(0.01)
"""
"""A ``conftest.py`` with which two runs wait for each other once they have collected."""

GATHERING = """
import asyncio, os
from pathlib import Path
from pytest_factorfair.models import openai_http

per_worker = %d

def gathering(spec):
    model = openai_http.build(spec)
    ask, calls = model.ask, 0

    async def gathered(request):
        nonlocal calls
        calls += 1
        if 1 < calls <= 1 + per_worker:  # before its first answer a worker has one call in flight
            Path(f"waits-{os.getpid()}-{calls}").touch()
            async with asyncio.timeout(60):
                while len(list(Path().glob("waits-*"))) < 2 * per_worker:
                    await asyncio.sleep(0.01)
        return await ask(request)

    model.ask = gathered
    return model

def pytest_factorfair_models():
    return {"hosted_vllm/m": gathering}
"""
"""A ``conftest.py`` with which so many calls of each of two workers wait for one another."""


def program(name: str) -> str:
    """A program of ``data/programs``, for a process of its own or as a file of a project."""
    return (DATA / "programs" / f"{name}.py").read_text(encoding="utf-8")


def split(arguments: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Split arguments as a shell does: variables (``FACTORFAIR_LOOKS=2``) and those of pytest."""
    words = [str(argument) for argument in arguments]
    variables = [word for word in words if word.startswith("FACTORFAIR_")]
    return dict(word.split("=", 1) for word in variables), tuple(w for w in words if w not in variables)


def rename(report: Path, model: str) -> None:
    """Give the only model of a report another name, as if that were its next release."""
    text = report.read_text(encoding="utf-8")
    (former,) = json.loads(text)["fingerprint"]["models"]
    report.write_text(text.replace(json.dumps(former), json.dumps(model)), encoding="utf-8")


class Project:
    """Runs pytest with the small checklist in an otherwise empty folder.

    Arguments such as ``FACTORFAIR_LOOKS=2`` are set in the environment of the run.
    """

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        shutil.copy(DATA / "small.yaml", self.path / "small.yaml")

    def run(self, *arguments: str, model: str | None = "sim:stereotyped") -> pytest.RunResult:
        """Run the small checklist, 24 answers per topic and context, on a model."""
        return self.run_pytest(PLUGIN, *self.arguments(model), *arguments)

    def run_pytest(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process; its workers are forks."""
        variables, arguments = split(arguments)
        with (
            mock.patch.dict(os.environ, variables),
            mock.patch.object(sys, "executable", forkserver.python()),
            mock.patch("importlib.metadata.distributions", forkserver.distributions),
        ):
            return self.pytester.runpytest_inprocess(*WITHOUT_OTHERS, *arguments)

    def run_apart(self, *arguments: str, model: str | None = "sim:stereotyped") -> pytest.RunResult:
        """Like ``run``, in a separate process: for tests that end, signal or replace parts of the process."""
        return self.run_process(forkserver.python(), PLUGIN, *self.arguments(model), *arguments)

    def run_anew(self, *arguments: str, model: str | None = "sim:stereotyped") -> pytest.RunResult:
        """Like ``run``, in new interpreters: for tests of start-up and of imports."""
        return self.run_process(sys.executable, PLUGIN, *self.arguments(model), *arguments)

    def run_process(self, python: str, *arguments: str) -> pytest.RunResult:
        """Run pytest in a separate process of this interpreter."""
        variables, arguments = split(arguments)
        with mock.patch.dict(os.environ, variables):
            return self.pytester.run(python, *PYTEST, *arguments)

    @staticmethod
    def arguments(model: str | None) -> tuple[str, ...]:
        """The arguments of a run with the small checklist."""
        return (
            *WITHOUT_OTHERS,
            *([f"--factorfair-model={model}"] if model else []),
            "--factorfair-checklist=small.yaml",
            "--factorfair-samples=24,objective=4",
        )

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path

    def stored(self) -> int:
        """The number of responses in the store."""
        return self.count("responses WHERE reusable")

    def rows_of_runs(self) -> int:
        """The number of rows that runs have left in the store: limits, accounts, endpoints, processes."""
        return sum(map(self.count, RUN_TABLES))

    def count(self, rows: str) -> int:
        """The number of rows in the store; 0 of a table that no run has made."""
        path = self.path / ".factorfair" / "responses.sqlite"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
            if rows.split(maxsplit=1)[0] not in tables:
                return 0
            return int(store.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])  # noqa: S608  # ours

    @property
    def report_path(self) -> Path:
        return self.path / ".factorfair" / "report" / "report.json"

    @property
    def partial_path(self) -> Path:
        """The report of a partial run, which is separate so that it does not replace a complete report."""
        return self.path / ".factorfair" / "report" / "partial" / "report.json"

    def report(self) -> dict[str, Any]:
        return report_of(self.report_path)

    def written_report(self) -> dict[str, Any]:
        """The report as its schema describes it."""
        report: dict[str, Any] = json.loads(self.report_path.read_text(encoding="utf-8"))
        return report

    def verdicts(self) -> dict[str, str]:
        """The verdicts by gate name."""
        return {gate["name"]: gate["verdict"] for gate in self.report()["gates"]}


def report_of(path: Path) -> dict[str, Any]:
    """A report whose answers have what they leave out."""
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if (people := report.pop("people", None)) is not None and "answers_in" not in report:
        report["cases"] = list(whole_cases(report["cases"], people))
    return report


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """A report without the fields that may differ between two equal runs."""
    fields = {name: value for name, value in report.items() if name != "usage"}
    fields["fingerprint"] = {
        name: value for name, value in report["fingerprint"].items() if name not in ("versions", "times")
    }
    return fields
