from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.project import program
from tests.servers import ROOT

PROGRAM = program("build_models")


def test_building_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"prompt": "a", "text": "b"}')
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text("{}")
    (checkpoint / "model.safetensors").write_bytes(b"")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
