"""The console command ``factorfair export``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.reports.json_report import EXPECTED
from tests.finished import PICTURES, TEXT, Finished


@pytest.fixture
def text(finished: Finished) -> str:
    return str(finished(*TEXT) / "report.json")


@pytest.fixture
def small(finished: Finished) -> str:
    """The folder of a report on facts about one statistic."""
    return str(finished(*TEXT[:-1], "-k", "objective-crime_rate"))


@pytest.fixture
def pictures(finished: Finished) -> str:
    pytest.importorskip("onnxruntime", reason="simulated pictures are read by a network")
    return str(finished(*PICTURES) / "report.json")


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tables_are_written_in_the_formats_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    out = tmp_path / "new" / "paper"
    assert main(["export", "--tables", "--format=csv,tex", str(out), text]) == 0
    stems = ("headline", "influence", "s-fact", "s-fair", "s-e", "s-kld", "distance")
    expected = [f"few-{stem}.{ending}" for stem in stems for ending in ("csv", "tex")]
    assert files(out) == set(expected)
    assert capsys.readouterr().out.splitlines() == [f"wrote {out / name}" for name in expected]
    rows = (out / "few-s-fact.csv").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows[1:]] == [
        f"sim:{kind}" for kind in ("stereotyped", "uniform")
    ]


def test_what_a_run_lacks_is_left_out_with_a_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, pictures: str
) -> None:
    assert main(["export", "--tables", "--format=md", str(tmp_path), text, pictures]) == 0
    output = capsys.readouterr().out
    assert "left out faintbench-explicit: no explicit prompt was asked\n" in output
    assert "left out faintbench-implicit-occupation: " in output
    assert {"few-s-e.md", "faintbench-implicit-model.md", "faintbench-eta.md"} <= files(tmp_path)
    shown = (tmp_path / "faintbench-implicit-model.md").read_text(encoding="utf-8")
    assert r"sim:ideal \(not judged\)" in shown  # a smoke run


def test_figures_are_written_as_svg_and_pdf_or_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small: str
) -> None:
    assert main(["export", "--figures", str(tmp_path), small]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("wrote ")] == [
        "left out few-surface: no part has both S_E and S_KLD",
        "left out few-by-model: no report has both facts and judgements",
        "left out few-by-context: no part has both S_fact and S_fair",
    ]
    stems = ("curves", "plane-gender", "plane-race")
    written = {f"few-{stem}.{ending}" for stem in stems for ending in ("svg", "pdf")}
    assert files(tmp_path) == written
    assert {line for line in lines if line.startswith("wrote ")} == {
        f"wrote {tmp_path / name}" for name in written
    }


def test_without_a_flag_tables_and_figures_are_written(tmp_path: Path, small: str) -> None:
    assert main(["export", str(tmp_path), small]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".csv", ".tex", ".html", ".svg", ".pdf"}


def test_figures_without_their_extra_are_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["export", str(tmp_path / "out"), text]) == 4
    message = capsys.readouterr().err
    assert message == (
        "drawing figures (--tables leaves them out) needs an extra: pip install 'pytest-factorfair[figures]'\n"
    )
    assert not (tmp_path / "out").exists()
    assert main(["export", "--tables", str(tmp_path / "out"), text]) == 0


def test_runs_of_different_designs_do_not_share_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    report = json.loads(Path(text).read_text(encoding="utf-8"))
    report["fingerprint"]["design"] = "paper"
    changed = tmp_path / "other.json"
    changed.write_text(json.dumps(report), encoding="utf-8")
    assert main(["export", str(tmp_path / "out"), text, str(changed)]) == 4
    message = capsys.readouterr().err
    assert "design is paper" in message
    assert "do not belong in one table" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_changed_checklist_does_not_share_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    report = json.loads(Path(text).read_text(encoding="utf-8"))
    report["fingerprint"]["checklists"]["few"] = "1" * 64
    changed = tmp_path / "other.json"
    changed.write_text(json.dumps(report), encoding="utf-8")
    assert main(["export", str(tmp_path / "out"), text, str(changed)]) == 4
    message = capsys.readouterr().err
    assert "checklist few is 111111111111, that of " in message
    assert message.endswith(
        "its content has changed, they do not belong in one table; export them separately\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out", "none.json"], f"none.json: No such file or directory; {EXPECTED}\n"),
        (
            ["out", "damaged.json"],
            "damaged.json: not a report.json: its schema is None, 'factorfair.report/6' is needed\n",
        ),
        (
            ["--format=docx", "out", "none.json"],
            "--format: there is no format 'docx'; known: csv, html, md, tex\n",
        ),
        (["damaged.json", "REPORT"], "damaged.json: File exists\n"),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("damaged.json").write_text("{}", encoding="utf-8")
    assert main(["export", *(text if word == "REPORT" else word for word in arguments)]) == 4
    assert capsys.readouterr() == ("", message)
