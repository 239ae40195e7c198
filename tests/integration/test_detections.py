"""A detector reads each picture once over all runs, counted by a detector that records its reads.

The first picture is read once more, before others are made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import FEW_PORTRAITS, Project, comparable, program

DETECTOR = program("counting_detector")


FIRST_LOOK = 1


def read(project: Project) -> int:
    """Pictures that the detector has read since the last call."""
    path = project.path / "read"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return len(lines)


def run(project: Project, *arguments: str) -> pytest.RunResult:
    return project.run_pytest(
        "--factorfair-model=sim:uniform", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-samples=images=2", "--factorfair-detector=python:counting.py:Counting", *arguments,
    )  # fmt: skip


def pictures(project: Project) -> int:
    return len(list(Path(project.path, ".factorfair", "images").glob("*/*")))


def test_a_picture_is_read_once(project: Project) -> None:
    project.write("counting.py", DETECTOR)
    assert run(project, "-n0").ret == 0
    earlier = comparable(project.report())
    # A picture that several cases share is read for each of them: they may ask for other attributes.
    assert (
        pictures(project)
        <= read(project) - FIRST_LOOK
        <= sum(len(case["answers"]) for case in earlier["cases"])
    )
    for arguments in (("-n0", "--factorfair-reuse=only"), ("-n2",)):
        assert run(project, *arguments).ret == 0
        assert read(project) == 0
        assert comparable(project.report()) == earlier


def test_an_edited_detector_reads_again(project: Project) -> None:
    path = project.write("counting.py", DETECTOR)
    run(project, "-n0")
    before = read(project) - FIRST_LOOK
    path.write_text(DETECTOR + "\n# edited\n")
    for expected in (before, 0):
        assert run(project, "-n0", "--factorfair-reuse=only").ret == 0
        assert read(project) == expected


def test_a_failure_to_read_is_not_kept(project: Project) -> None:
    project.write(
        "counting.py",
        "from pathlib import Path\n\ndef Counting(pixels):\n"
        "    with Path('read').open('a') as file:\n        file.write('1\\n')\n"
        "    raise ValueError('no face today')\n",
    )
    for _ in range(2):
        run(project, "-n0")
        assert read(project) > 0
