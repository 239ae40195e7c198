"""The notebook of the recipes, run by Jupyter's own client, and what a notebook shows of reports."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import load_report, run
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.notebook import Report, Rows
from tests.project import DATA

NOTEBOOK = Path(__file__).parents[2] / "conftest_examples/notebook/notebook.ipynb"


def outputs(cell: Any) -> dict[str, str]:
    """What a cell displays, by type."""
    shown: dict[str, str] = {}
    for output in cell.outputs:
        shown |= output.get("data", {})
    return shown


def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebook")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebook")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    checklist = (DATA / "small.yaml").read_text().replace("name: small", "name: fact_or_fair")
    (tmp_path / "few.yaml").write_text(checklist)
    monkeypatch.setenv("FACTORFAIR_CHECKLIST", "few.yaml")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    progress = "".join(output.text for output in cells[0].outputs)
    assert "████████████████████ factorfair: $0.00 · 0:00 left · 216 of 216 answers" in progress
    assert "<h3>sim:stereotyped</h3>" in outputs(cells[1])["text/html"]
    assert "gender" in outputs(cells[2])["text/html"]
    report = load_report(tmp_path / ".factorfair/report")
    reply = report.replies[0]
    assert repr(reply["prompt"]) in outputs(cells[4])["text/plain"]
    assert outputs(cells[5])["image/svg+xml"].startswith("<svg")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, Path]:
    root = tmp_path_factory.mktemp("notebook")
    shutil.copy(DATA / "small.yaml", root)
    gates = ["s_e[base,gender] >= 0.97"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        summary = run("sim:stereotyped", checklist=["small.yaml"], gate=gates, progress=False).summary
    return summary, root / ".factorfair/report"


@pytest.mark.parametrize("name", ["", "report.json"])
def test_rows_are_those_of_the_summary(small: tuple[Summary, Path], name: str) -> None:
    pytest.importorskip("pandas", reason="needs the extra notebook")
    pytest.importorskip("polars", reason="needs the extra notebook")
    summary, folder = small
    report = load_report(folder / name)
    assert [row["metric"] for row in report.scores] == [score.metric for score in summary.scores]
    assert [row["judgement"] for row in report.gates] == [gate.judgement for gate in summary.gates]
    assert len(report.replies) == sum(len(record.answers) for record in summary.cases)
    frame = report.topics.to_pandas()
    shares = frame.groupby(["part", "context", "attribute", "statistic", "direction"], dropna=False)
    assert shares["share"].sum().to_list() == pytest.approx([1.0] * shares.ngroups)
    assert frame["count"].sum() == sum(sum(topic.counts.values()) for topic in TOPICS.of(summary))
    assert report.topics.to_polars()["count"].sum() == frame["count"].sum()
    replies = report.replies.to_pandas()
    asked = replies["case"].str.contains("tea_rate")  # the other statistic has figures of race alone
    counted = frame[frame["attribute"] == "gender"].groupby("group")["count"].sum()
    assert replies[asked]["gender"].value_counts().to_dict() == counted.to_dict()


def test_it_displays_text_from_outside_as_text(small: tuple[Summary, Path]) -> None:
    shown = Rows([{"reply": "<script>alert(1)</script>", "n": 1}, {"reply": None, "n": 2}])._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    page = Report(*small)._repr_html_()
    assert "<script" not in page
    assert "s_e[base,gender]" in page
    assert "the limit is" in page
    assert "Next: " in page


def test_a_long_table_shows_its_ends() -> None:
    shown = Rows({"n": f"row{n}"} for n in range(1234))._repr_html_()
    assert "1,214 more rows" in shown
    assert all(f"<td>row{n}</td>" in shown for n in (0, 9, 1224, 1233))
    assert "row10<" not in shown


def test_figures_are_drawn(small: tuple[Summary, Path]) -> None:
    chart = load_report(small[1]).figures["small-plane-gender"]
    assert (chart._repr_svg_() or "").startswith("<svg")
    assert chart.to_altair().to_dict()["$schema"] == chart.spec["$schema"]


def test_packed_replies_and_missing_ones(small: tuple[Summary, Path], tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes((small[1] / "report.json").read_bytes())
    report = load_report(tmp_path)
    with pytest.raises(InputError, match=r"the report's replies are in .*responses\.jsonl, which is missing"):
        _ = report.replies
    lines = (small[1] / "responses.jsonl").read_bytes()
    (tmp_path / "responses.jsonl.gz").write_bytes(gzip.compress(lines))
    assert [row["prompt"] for row in report.replies] == [
        json.loads(line)["prompt"] for line in lines.splitlines()
    ]
    (tmp_path / "responses.jsonl.gz").write_bytes(gzip.compress(lines)[:-200])
    with pytest.raises(InputError, match="which cannot be read: Compressed file ended"):
        _ = load_report(tmp_path).replies


def test_what_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no report\.json or report\.json\.gz in this folder"):
        load_report(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        load_report(tmp_path / "report.json")


def test_the_bar_can_be_had_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "small.yaml", tmp_path)
    run("sim:ideal", checklist=["small.yaml"], samples="24")
    assert capsys.readouterr() == ("", "")  # neither a terminal nor a notebook
    run("sim:ideal", checklist=["small.yaml"], samples="24", progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "█" * 20 in err.splitlines()[-1]
