"""Reports are read back as they were written; other files are reported in one line."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import SCHEMA, read, to_json
from tests.finished import REFUSING, Finished


@pytest.fixture
def written(finished: Finished, tmp_path: Path) -> Path:
    """The report of a run that has everything a text run can have: gates, topics, answers."""
    return Path(shutil.copy(finished(*REFUSING) / "report.json", tmp_path))


def test_a_report_that_is_read_and_written_again_is_unchanged(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert json.loads(text)["gates"]
    assert to_json(read(str(written), name="it")) == text
    written.write_bytes(gzip.compress(text.encode()))
    assert to_json(read(str(written), name="it")) == text


def test_a_damaged_report_is_one_line(written: Path) -> None:
    report = json.loads(written.read_text(encoding="utf-8"))
    del report["gates"][0]["subject"]
    written.write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(InputError, match=r"^it: a damaged report: .*subject") as raised:
        read(str(written), name="it")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[" * 100_000, "it: not a report.json: it is nested too deeply"),
        (b'{"schema": "%s", "fingerprint": %s}' % (SCHEMA.encode(), b"[" * 500 + b"]" * 500),
         "it: a damaged report: there is no 'cases'"),
        (b"\xff{}", "it: not JSON ('utf-8' codec can't decode byte 0xff in position 0: invalid start byte); expected the report"),
        (b"", "it: not JSON (Expecting value: line 1 column 1 (char 0)); expected the report.json of a run, by default in .factorfair/report/"),
        (b"[]", f"it: not a report.json: its schema is None, '{SCHEMA}' is needed"),
        (gzip.compress(b"{}" * 1000)[:-20], "it: a damaged archive: "),
    ],
    ids=["deep", "damaged and deep", "no text", "empty", "no report", "no archive"],
)  # fmt: skip
def test_any_other_file_is_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read(str(file), name="it")
    assert str(raised.value).startswith(problem)
    assert "\n" not in str(raised.value)
