"""Files of a report are whole or as they were, and the error of a full disk names the file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pytest_factorfair.reports.files import write_whole
from tests import forkserver

FULL = """
import resource, sys
from pathlib import Path
sys.dont_write_bytecode = True  # what is imported under the limit would be cached cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))  # no file may grow beyond: as on a full disk
"""
WRITE = """
from pytest_factorfair.reports.files import write_whole
try:
    write_whole(Path(sys.argv[1]), "x" * 2_000)
except OSError as error:
    print(f"{error.filename}: {error.strerror}")
"""
COMMAND = """
from pytest_factorfair.commands.common import write
from pytest_factorfair.errors import InputError
try:
    write(Path(sys.argv[1]), "x" * 2_000)
except InputError as error:
    print(error)
"""


def _on_a_full_disk(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [forkserver.python(), "-c", FULL + program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def test_a_full_disk_leaves_the_former_file_and_is_reported_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("former")
    assert _on_a_full_disk(WRITE, path).stdout == f"{path}: File too large\n"
    assert path.read_text() == "former"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_command_reports_a_full_disk_by_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "MODEL_CARD.md"
    path.write_text("former")
    assert _on_a_full_disk(COMMAND, path).stdout == f"{path}: cannot be written: File too large\n"
    assert path.read_text() == "former"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
