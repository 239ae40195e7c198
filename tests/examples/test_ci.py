"""What the project's own CI runs; the commands are stand-ins that note how they are called."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
CHECKS = [
    "ruff",
    "ruff",
    "mypy",
    "NO_SKIPPED_TESTS=1 pytest",
    "NO_SKIPPED_TESTS=1 pytest",
    "pytest",
    "pytest",
]
CHECK = re.compile(r"(NO_SKIPPED_TESTS=1 )?(ruff|mypy|pytest)\b")
STAND_IN = """\
#!/usr/bin/env bash
command="${0##*/} $*"
echo "${NO_SKIPPED_TESTS:+NO_SKIPPED_TESTS=$NO_SKIPPED_TESTS }$command" >> "$NOTES"
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

    @property
    def checks(self) -> list[str]:
        """The checks in turn, each with what makes a skipped test a failed one, and without its arguments."""
        found = [CHECK.match(command) for command in self.commands if "--collect-only" not in command]
        return [check.group() for check in found if check]


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
    assert done.checks == CHECKS


def test_without_a_failure_it_succeeds(tmp_path: Path) -> None:
    done = run(tmp_path, "nothing at all")
    assert done.status == 0, done
    assert "failed: " not in done.printed


@pytest.mark.parametrize(("fails", "checks"), [("uv pip install", []), ("uv venv", CHECKS[:5])])
def test_a_failed_installation_ends_it(tmp_path: Path, fails: str, checks: list[str]) -> None:
    done = run(tmp_path, fails)
    assert done.status == 1
    assert done.checks == checks


def test_a_python_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    done = run(tmp_path, "uv python find")
    assert done.status == 0, done
    assert done.checks == CHECKS[:5]
