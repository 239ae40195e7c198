"""A report that is read back says what was written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import to_json
from pytest_factorfair.reports.saved import summary
from tests.finished import Finished


@pytest.fixture
def written(finished: Finished, tmp_path: Path) -> Path:
    """The report of a run that has everything a text run can have: gates, topics, headline, answers."""
    report = finished(
        "--factorfair-model=sim:refusing?rate=0.2",
        "--factorfair-preset=smoke",
        "--factorfair-gate=refusal_rate <= 0.05",
    )
    return Path(shutil.copy(report / "report.json", tmp_path))


def test_what_is_read_back_is_written_again_alike(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert json.loads(text)["gates"]
    assert to_json(summary(str(written), name="it")) == text


def test_a_damaged_report_is_told_in_a_line(written: Path) -> None:
    report = json.loads(written.read_text(encoding="utf-8"))
    del report["gates"][0]["subject"]
    written.write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(InputError, match=r"^it: a damaged report: .*subject") as told:
        summary(str(written), name="it")
    assert "\n" not in str(told.value)
