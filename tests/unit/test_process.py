from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_factorfair import process


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


def drafts(name: str, pid: int) -> str:
    """The name of a draft by a process of this host."""
    with process.draft(Path(name)) as draft:
        return draft.name.replace(f"-{os.getpid()}-", f"-{pid}-")


def test_only_files_of_dead_processes_are_swept(tmp_path: Path, dead: int) -> None:
    living = {
        "r.json",
        drafts("r.json", os.getpid()),
        "r.json.partial-",
        "r.json.partial-x",
        drafts("other", dead),
    }
    swept = {drafts("r.json", dead), drafts("r.json", dead)}
    for name in living | swept:
        (tmp_path / name).touch()
    aside = tmp_path / drafts("r.json", dead)
    aside.mkdir()
    (aside / "r.json").touch()
    process.sweep(tmp_path, "r.*")
    assert {path.name for path in tmp_path.iterdir()} == living


def test_drafts_of_another_host_are_left_for_a_day(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts of another host are kept for a day, because processes in two containers may have the same id."""
    local = drafts("a.png", dead)
    with monkeypatch.context() as patched:
        patched.setattr(process, "host", lambda: "another")
        new, old = drafts("a.png", dead), drafts("a.png", dead)
    for name in (local, new, old):
        (tmp_path / name).touch()
    yesterday = (tmp_path / old).stat().st_mtime - 90_000
    os.utime(tmp_path / old, (yesterday, yesterday))
    process.sweep(tmp_path, "*")
    assert [path.name for path in tmp_path.iterdir()] == [new]


def test_where_only_a_signal_could_tell_every_process_counts_as_alive(
    dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not process.alive(dead)
    monkeypatch.setattr(process, "POSIX", False)
    assert process.alive(dead)


def test_folder_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    process.sweep(tmp_path / "none", "*")
    assert not (tmp_path / "none").exists()


def test_a_draft_is_renamed_or_deleted(tmp_path: Path) -> None:
    path = tmp_path / "report.json"

    def write(*, fails: bool) -> None:
        with process.draft(path) as draft:
            draft.write_text("whole")
            assert draft.name.startswith("report.json.partial-")
            if fails:
                raise ZeroDivisionError
            draft.replace(path)

    with pytest.raises(ZeroDivisionError):
        write(fails=True)
    assert list(tmp_path.iterdir()) == []
    write(fails=False)
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    assert path.read_text() == "whole"
