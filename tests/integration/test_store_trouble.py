"""Problems of the store's folder or file are reported in one line before anything is asked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair import process
from tests import forkserver
from tests.project import PYTEST, Project
from tests.servers import StubServer

ARGUMENTS = ("-p", "no:xdist", "-p", "no:cacheprovider")


def damage_pages(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for page in range(3, len(content) // 4096, 2):
        content[4096 * page : 4096 * (page + 1)] = b"\xa5" * 4096
    file.write_bytes(content)


def drop_column(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("alter table responses drop column picture")


def write_another_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("update meta set value = '1' where name = 'version'")


def put_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a store with the answers of one run."""
    folder = tmp_path_factory.mktemp("ran")
    small = Path(__file__).parents[1] / "data" / "small.yaml"
    command = [
        forkserver.python(), *PYTEST, *ARGUMENTS, "--factorfair-model=sim:uniform", "--factorfair-samples=24",
        f"--factorfair-checklist={small}", f"--rootdir={folder}",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / ".factorfair" / "responses.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("harm", "message", "quiet"),
    [
        (damage_pages, "the response store is damaged: ", ()),
        (drop_column, "the response store cannot be opened: no such column: responses.picture; ", ("-q",)),
        (write_another_version, "a response store of version 1, this release reads version ", ()),
        (put_fifo, "not a regular file, so not a response store; ", ("-q",)),
    ],
)
def test_trouble_is_one_line_before_anything_is_asked(
    project: Project,
    stub: StubServer,
    store: bytes,
    harm: Callable[[Path], None],
    message: str,
    quiet: tuple[str, ...],
) -> None:
    file = project.path / ".factorfair" / "responses.sqlite"
    file.parent.mkdir()
    file.write_bytes(store)
    harm(file)
    options = (f"--factorfair-model-arg=base_url={stub.base_url}", *ARGUMENTS, *quiet)
    result = project.run_pytest(
        "--factorfair-model=hosted_vllm/m", "--factorfair-checklist=small.yaml", *options
    )
    assert result.ret == 4
    lines = [line for line in result.stderr.lines if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith(f"ERROR: {file}: {message}")
    assert "INTERNALERROR" not in result.stdout.str()
    assert stub.stats()["requests"] == 0


def test_files_of_dead_processes_are_deleted(project: Project) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    folder = project.path / ".factorfair"
    drafts = []
    for name in ("report/report.json", "responses.sqlite", "images/0a.png", "report/pictures/m/case.jpg"):
        with process.draft(folder / name) as draft:
            drafts.append(draft.with_name(draft.name.replace(f"-{os.getpid()}-", f"-{ended.pid}-")))
        drafts[-1].parent.mkdir(parents=True, exist_ok=True)
        drafts[-1].touch()
    assert project.run("-p", "no:xdist").ret == 0
    assert not [draft for draft in drafts if draft.exists()]
