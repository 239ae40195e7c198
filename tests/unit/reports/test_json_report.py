"""Reports are read back as they were written; other files are reported in one line."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import SCHEMA, read, to_json
from pytest_factorfair.reports.schema import ANSWER
from tests.finished import DEPENDING, FEW_PAINTED, REFUSING, Finished
from tests.project import report_of


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


@pytest.mark.parametrize("run", [DEPENDING, FEW_PAINTED], ids=["text", "pictures"])
def test_answers_leave_out_only_what_the_report_says_elsewhere(
    run: tuple[str, ...], finished: Finished
) -> None:
    """With it, they are those of the file of replies; a text run's take less than half of the room."""
    folder = finished(*run)
    whole = [answer for case in report_of(folder / "report.json")["cases"] for answer in case["answers"]]
    replies = map(json.loads, (folder / "responses.jsonl").read_text(encoding="utf-8").splitlines())
    for answer, reply in zip(whole, replies, strict=True):
        assert answer == {name: reply[name] for name in answer}
        assert answer.keys() | {"key"} >= reply.keys() & ANSWER.keys()
    if run == DEPENDING:
        cases = json.loads((folder / "report.json").read_text(encoding="utf-8"))["cases"]
        shortened = [answer for case in cases for answer in case["answers"]]
        assert len(json.dumps(shortened)) < 0.5 * len(json.dumps(whole))


def test_reports_of_the_former_version_are_read(written: Path) -> None:
    """Their answers leave out nothing."""
    expected = read(str(written), name="it")
    written.write_text(json.dumps(report_of(written) | {"schema": "factorfair.report/5"}), encoding="utf-8")
    assert read(str(written), name="it") == expected


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
