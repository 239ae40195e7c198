"""What the project's own CI runs; the commands are stand-ins that note how they are called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
CHECKS = ["ruff", "ruff", "mypy", "pytest", "pytest", "pytest", "pytest", "pytest"]
STAND_IN = """\
#!/usr/bin/env bash
command="${0##*/} $*"
echo "$command" >> "$NOTES"
case $command in
  "python3 -m venv "*) mkdir -p .venv/bin && for name in pip uv ruff mypy pytest; do cp "$0" .venv/bin/$name; done ;;
  "uv venv "*) mkdir -p "${!#}/bin" && cp "$0" "${!#}/bin/pytest" ;;
  "uv build "*) cd "${command##*--out-dir=}" && mkdir source && tar czf source.tar.gz source ;;
esac
[[ $command != *"$FAILS"* ]]
"""


class Done(NamedTuple):
    status: int
    printed: str
    commands: list[str]


def run(folder: Path, fails: str) -> Done:
    """Run it in a folder; a command that contains the text fails."""
    (commands := folder / "commands").mkdir()
    (folder / ".ci").mkdir()
    shutil.copy(RUN, folder / ".ci")
    for name in ("python3", "initdb", "chromium", "jq"):
        (commands / name).write_text(STAND_IN)
        (commands / name).chmod(0o755)
    notes = folder / "notes"
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": f"{commands}:{os.environ['PATH']}", "TMPDIR": str(folder), "NOTES": str(notes), "FAILS": fails},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, notes.read_text().splitlines())


@pytest.mark.parametrize("fails", ["ruff check", "mypy", "--dist=worksteal", "-m slow", "tests/unit/engine"])
def test_after_a_failed_check_the_others_run_all_the_same(tmp_path: Path, fails: str) -> None:
    done = run(tmp_path, fails)
    assert done.status == 1, done
    assert fails in done.printed.partition("failed: ")[2]
    assert [command.split()[0] for command in done.commands if command.split()[0] in CHECKS] == CHECKS


def test_without_a_failure_it_succeeds(tmp_path: Path) -> None:
    done = run(tmp_path, "nothing at all")
    assert done.status == 0, done
    assert "failed: " not in done.printed


def test_a_failed_installation_ends_it(tmp_path: Path) -> None:
    done = run(tmp_path, "uv pip install")
    assert done.status == 1
    assert not any(command.startswith("pytest ") for command in done.commands)
