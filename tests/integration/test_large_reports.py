"""Reports of many answers, which are in a file beside report.json."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_factorfair
from pytest_factorfair import reports
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import read, to_json
from pytest_factorfair.store import Store
from tests.project import DATA, FEW_PORTRAITS, Project

SCHEMA = Path(__file__).parents[2] / "checklists" / "schema" / "report.schema.json"
RUNS: dict[str, dict[str, Any]] = {
    "text": {"checklist": [str(DATA / "small.yaml")], "samples": "24,objective=4"},
    "pictures": {"checklist": [str(FEW_PORTRAITS)], "samples": "images=3"},
}


class Large:
    """A finished run, whose reports can be written again."""

    def __init__(self, root: Path, model: str, settings: dict[str, Any]) -> None:
        self.root = root
        self.summary: Summary = pytest_factorfair.run(model, root=root, **settings).summary
        self.answers = sum(len(record.answers) for record in self.summary.cases)

    def written(self, name: str, limit: int) -> Path:
        """The path of report.json in a folder of this name, which may hold this many answers."""
        folder = self.root / name
        if not folder.exists():
            shutil.copytree(self.root / ".factorfair/report", folder)  # with its contact sheets
        with Store.open(f"sqlite:///{self.root}/.factorfair/responses.sqlite", read_only=True) as store:
            transcript = reports.Transcript(self.summary, store.call_texts)
            reports.write(self.summary, folder, transcript=transcript, cases=(), most=limit)
        return folder / "report.json"


@pytest.fixture(scope="module", params=RUNS)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Large:
    return Large(tmp_path_factory.mktemp("large"), "sim:refusing?rate=0.2", RUNS[request.param])


def test_above_the_limit_the_answers_are_beside_the_report(large: Large) -> None:
    whole = large.written("one", large.answers)
    plain, replies = json.loads(whole.read_text()), whole.with_name("responses.jsonl")
    lines = replies.read_text()
    assert len(lines.splitlines()) == large.answers
    assert sum(len(case["answers"]) for case in plain["cases"]) == large.answers

    assert large.written("one", large.answers - 1) == whole
    counted = json.loads(whole.read_text())
    assert gzip.decompress(whole.with_name("responses.jsonl.gz").read_bytes()).decode() == lines
    assert not replies.exists()
    jsonschema.validate(counted, json.loads(SCHEMA.read_text()))
    assert [sum(case["outcomes"].values()) for case in counted["cases"]] == [
        len(case["answers"]) for case in plain["cases"]
    ]
    assert {
        name: part for name, part in counted.items() if name not in ("cases", "answers_in", "people")
    } == {name: part for name, part in plain.items() if name not in ("cases", "people")}

    large.written("one", large.answers)  # the next run has fewer answers again
    assert sorted(path.name for path in whole.parent.glob("responses*")) == ["responses.jsonl"]
    assert json.loads(whole.read_text()) == plain


def test_answers_beside_the_report_are_read_like_those_in_it(large: Large) -> None:
    whole, counted = large.written("whole", large.answers), large.written("counted", 0)
    assert to_json(read(str(counted), name="it")) == to_json(read(str(whole), name="it")) == whole.read_text()


def test_the_page_says_that_it_has_a_sample(large: Large) -> None:
    notice = "This page holds counts of all answers, and a sample of them: at most 8 replies or 100 pictures of a case, and those that show what a scan found."
    pages = [large.written(f"page{limit}", limit).with_name("report.html") for limit in (large.answers, 0)]
    whole, counted = (page.read_text() for page in pages)
    assert notice not in whole
    assert 'href="responses.jsonl"' in whole
    assert notice in counted
    assert 'href="responses.jsonl.gz"' in counted
    assert 'href="responses.jsonl"' not in counted


def test_answers_that_do_not_belong_to_the_report_are_one_line(large: Large) -> None:
    path = large.written("damaged", 0)
    replies = path.with_name("responses.jsonl.gz")
    lines = gzip.decompress(replies.read_bytes())
    unreadable, of_others = "which cannot be read: ", "which are those of another run"
    refused = lines.replace(b'"outcome": "answered"', b'"outcome": "refused"', 1)
    of_another_model = lines.replace(b'"model": "sim:refusing', b'"model": "sim:other', 1)
    for content, problem in (
        (None, "which is missing"),
        (gzip.compress(lines)[:-30], f"{unreadable}Compressed file ended before "),
        (lines, f"{unreadable}Not a gzipped file"),
        (gzip.compress(lines.replace(b'"query"', b'query"', 1)), "where line 1 is not JSON: "),
        (gzip.compress(lines + b"{}\n"), f"where line {large.answers + 1} is not a reply of a run"),
        (gzip.compress(lines[: lines.rindex(b"\n{")]), of_others),
        (gzip.compress(lines + lines[: lines.index(b"\n") + 1]), of_others),
        (gzip.compress(refused), of_others),
        (gzip.compress(of_another_model), of_others),
    ):
        replies.unlink(missing_ok=True)
        if content is not None:
            replies.write_bytes(content)
        with pytest.raises(InputError) as raised:
            read(str(path), name="it")
        assert str(raised.value).startswith(f"it: its answers are in {replies}, {problem}")
        assert "\n" not in str(raised.value)


def test_such_a_report_is_a_baseline_where_it_is_and_is_not_committed(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pairs of answers are found as in a whole report; ``bless`` would leave the answers behind."""
    settings = {"checklist": ["small.yaml"], "samples": "24,objective=4", "estimator": "plugin"}
    large = Large(project.path, "sim:stereotyped?strength=0.2", settings)
    gate = "--factorfair-gate=regression(s_e)[base,gender] >= -0.5"
    outcomes = []
    for name, limit in (("whole", large.answers), ("counted", 0)):
        former = large.written(name, limit)
        result = project.run("-p", "no:xdist", f"--factorfair-baseline={former}", gate)
        assert result.ret == 0
        outcomes.append((project.report()["changes"], project.report()["gates"]))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0]
    capsys.readouterr()
    assert main(["bless", str(project.path / "counted/report.json")]) == 4
    assert "too large to commit, with answers in responses.jsonl.gz" in capsys.readouterr().err


@pytest.mark.parametrize("large", ["pictures"], indirect=True)
def test_pictures_of_such_a_report_are_drawn_for_labelling(
    large: Large, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, store = large.written("sampled", 0), large.root / ".factorfair/responses.sqlite"
    command = ["detector", "sample", str(report), str(store), "--out", str(tmp_path / "sheet")]
    assert main([*command, "--checklist", str(FEW_PORTRAITS)]) == 0, capsys.readouterr().err
    drawn = sum(answer.outcome == "answered" for record in large.summary.cases for answer in record.answers)
    assert f"{drawn} of {drawn} pictures" in capsys.readouterr().out
