"""Shards with one PostgreSQL store; without pytester, which would unload the driver that other tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import run
from pytest_factorfair.commands.cli import main

CHECKLIST = Path(__file__).parents[2] / "data" / "small.yaml"
COMMON: dict[str, Any] = {"checklist": [str(CHECKLIST)], "samples": "24,objective=4"}
ANSWERS = 6 * 4 + 4 * 2 * 24


def test_shards_that_share_a_server_need_no_merge(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        run("sim:stereotyped", shard=f"{number}/2", store=database, **COMMON)
    shared = run("sim:stereotyped", reuse="only", store=database, **COMMON).summary
    assert (shared.usage.shards, shared.usage.calls, shared.usage.cached) == (2, ANSWERS, ANSWERS)
    assert main(["merge", "merged", database]) == 0  # or one in a file
    assert f"merged: {ANSWERS} calls in 2 shards, cost $0.00" in capsys.readouterr().out
    alone = run("sim:stereotyped", reuse="only", store="sqlite:///merged/responses.sqlite", **COMMON).summary
    assert (alone.cases, alone.usage) == (shared.cases, shared.usage)
