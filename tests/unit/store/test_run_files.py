from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_factorfair.store.run_files import Owner, sweep

OWN = """
import sys
from pathlib import Path
from pytest_factorfair.store.run_files import Owner
owner = Owner(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


def test_only_what_a_dead_process_left_is_swept_away(tmp_path: Path) -> None:
    mine = Owner(tmp_path / "run-1.lock")
    command = [sys.executable, "-c", OWN, str(tmp_path / "run-2.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for name in ("run-2.sqlite", "run-2.sqlite-wal", "responses.sqlite"):
            (tmp_path / name).touch()
        sweep(tmp_path)
        assert len(list(tmp_path.iterdir())) == 7
        process.kill()
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"run-1.lock", "run-1.places", "responses.sqlite"}
    mine.close()
    assert [path.name for path in tmp_path.iterdir()] == ["responses.sqlite"]


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
    Owner(tmp_path / "none" / "run-1.lock").close()
    assert list((tmp_path / "none").iterdir()) == []
