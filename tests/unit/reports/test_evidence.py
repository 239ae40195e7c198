"""Evidence made from reports: what each file says, and what is refused."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Judgement, Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.exports.evidence.attestation import predicate, statement
from pytest_factorfair.exports.evidence.consistency import Recomputed, contradicts
from pytest_factorfair.exports.evidence.every_eval_ever import Evaluator, ModelName
from pytest_factorfair.exports.evidence.page import to_markdown
from pytest_factorfair.reports.json_report import read, replies
from tests.finished import FAILING, FEW_PAINTED, REFUSING, TEXT, Finished
from tests.project import DATA, report_of

MODELS = ("sim:stereotyped", "sim:uniform")

Report = dict[str, Any]
Edit = Callable[[Report], object]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def aggregates(folder: Path) -> Iterator[Report]:
    for path in sorted((folder / "data").rglob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def valid(name: str, documents: list[Report]) -> None:
    schema = json.loads((DATA / "every_eval_ever" / f"{name}.schema.json").read_text(encoding="utf-8"))
    validator = Draft202012Validator(schema)
    assert documents
    assert [error.message for document in documents for error in validator.iter_errors(document)] == []


@pytest.fixture(scope="module")
def made(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The evidence for two text models, with their replies."""
    folder = tmp_path_factory.mktemp("made") / "evidence"
    assert main(["evidence", str(finished(*TEXT)), "-o", str(folder), "--instances"]) == 0
    return folder


@pytest.fixture
def report(finished: Finished, tmp_path: Path) -> Path:
    """A copy of that run's report that a test may edit."""
    shutil.copytree(finished(*TEXT), tmp_path / "report")
    return tmp_path / "report" / "report.json"


def _score(content: Report, model: str = "sim:stereotyped") -> Report:
    """The score that the gate judges."""
    key = {"model": model, "metric": "s_e", "context": "base", "attribute": "gender"}
    row: Report = next(row for row in content["scores"] if key.items() <= row.items())
    return row


def edited(report: Path, edit: Edit) -> Path:
    content = json.loads(report.read_text(encoding="utf-8"))
    edit(content)
    report.write_text(json.dumps(content), encoding="utf-8")
    return report


def test_the_same_report_gives_the_same_bytes_without_a_network(
    finished: Finished, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", None)
    folder = tmp_path / "again"
    assert main(["evidence", str(finished(*TEXT) / "report.json"), "-o", str(folder), "--instances"]) == 0
    assert contents(folder) == contents(made)


def test_every_exported_score_is_the_reports(
    finished: Finished, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: dict[tuple[str, ...], Report] = {
        (row["model"], ".".join(row[name] for name in ("checklist", "metric", "part", "context", "attribute") if row[name])): row
        for row in json.loads((finished(*TEXT) / "report.json").read_text())["scores"]
    }  # fmt: skip
    records = list(aggregates(made))
    valid("eval", records)
    directions: dict[tuple[str, str], bool] = {}
    for record in records:
        model = record["model_info"]["name"]
        assert record["model_info"]["additional_details"]["deployment_type"] == "self_deployed"
        for result in record["evaluation_results"]:
            row, config = rows.pop((model, result["evaluation_result_id"])), result["metric_config"]
            details = result["score_details"]
            assert details["score"] == (row["value"] if row["corrected"] is None else row["corrected"])
            assert details["uncertainty"]["num_samples"] == row["n"]
            interval = details["uncertainty"].get("confidence_interval", {"lower": None, "upper": None})
            assert (interval["lower"], interval["upper"]) == (row["low"], row["high"])
            assert config["min_score"] <= details["score"] <= config["max_score"]
            directions[row["metric"], row["part"]] = config["lower_is_better"]
    assert directions["s_fact", "objective"] is directions["s_e", "subjective"] is False
    assert directions["refusal_rate", "objective"] is directions["distance", "subjective"] is True
    left = {(row["metric"], row["part"]) for row in rows.values() if row["value"] is not None}
    assert {("s_fact", "subjective"), ("s_e", "objective"), ("influence", "subjective")} <= left
    assert not left & directions.keys()
    main(["evidence", str(finished(*TEXT)), "-o", str(made), "--instances"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "scores exported" in line]
    for line, record in zip(sorted(lines), records, strict=True):
        numbers = [int(number) for number in re.findall(r"(?<= )\d+", line)]
        assert numbers[0] == len(record["evaluation_results"])
        assert sum(numbers[1:]) == sum(row["model"] == record["model_info"]["name"] for row in rows.values())


def test_only_replies_with_a_right_answer_are_exported(finished: Finished, tmp_path: Path) -> None:
    assert main(["evidence", str(finished(*REFUSING)), "-o", str(tmp_path / "e"), "--instances"]) == 0
    (record,) = aggregates(tmp_path / "e")
    detail = record["detailed_evaluation_results"]
    content = (tmp_path / "e" / detail["file_path"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == detail["checksum"]
    rows = [json.loads(line) for line in content.splitlines()]
    valid("instance_level_eval", rows)
    report = report_of(finished(*REFUSING) / "report.json")
    asked = [(case["part"], answer) for case in report["cases"] for answer in case["answers"]]
    facts = [answer for part, answer in asked if part == "objective"]
    assert len(rows) == detail["total_rows"] == len(facts)
    assert [row["error"] for row in rows] == [
        None if answer["outcome"] == "answered" else answer["outcome"] for answer in facts
    ]
    assert {row["error"] for row in rows} == {None, "refused"}
    for attribute in ("gender", "race"):
        key = f"few.s_fact.objective.{attribute}"
        of_key = [row for row in rows if row["evaluation_result_id"] == key]
        (result,) = [
            result for result in record["evaluation_results"] if result["evaluation_result_id"] == key
        ]
        correct = sum(row["evaluation"]["is_correct"] for row in of_key)
        answered = sum(row["error"] is None for row in of_key)
        assert (correct, answered) == (answered, result["score_details"]["uncertainty"]["num_samples"])
    page = (tmp_path / "e" / "evidence.md").read_text(encoding="utf-8")
    refused = sum(answer["outcome"] == "refused" for _, answer in asked)
    assert f"{len(asked):,} answers, {refused:,} refused, 0 unparsed, 0 errors" in page


def test_pictures_have_scores_and_no_replies(finished: Finished, tmp_path: Path) -> None:
    report = finished(*FEW_PAINTED)
    assert main(["evidence", str(report), "-o", str(tmp_path / "e"), "--instances"]) == 0
    records = list(aggregates(tmp_path / "e"))
    valid("eval", records)
    metrics = {result["metric_config"]["metric_name"]: result["metric_config"] for result in records[0]["evaluation_results"]}  # fmt: skip
    assert {"implicit", "implicit_rescaled", "jensen_shannon", "s_fact"} <= metrics.keys()
    assert not {"eta", "eta_magnitude"} & metrics.keys()
    assert metrics["jensen_shannon"]["lower_is_better"]
    assert "detailed_evaluation_results" not in records[0]


def test_one_changed_byte_breaks_the_digests(made: Path) -> None:
    files = contents(made)
    signed = json.loads(files["test-result.statement.json"])
    assert signed["predicate"] == json.loads(files["test-result.predicate.json"])
    (subject,) = signed["subject"]
    assert subject["digest"]["sha256"] == hashlib.sha256(files["report.json"]).hexdigest()
    assert (
        subject["digest"]["sha256"] != hashlib.sha256(files["report.json"].replace(b"1", b"2", 1)).hexdigest()
    )
    page = files.pop("evidence.md").decode()
    for path, content in files.items():
        assert f"\n| `{path}` | `{hashlib.sha256(content).hexdigest()}` |\n" in page


def test_the_page_begins_with_what_did_not_pass(finished: Finished) -> None:
    summary = read(str(finished(*TEXT)), name="it")
    times = {
        "started": "2026-11-02T23:59:30+01:00", "finished": "2026-11-03T00:02:05+00:00",
        "first_answer": "2026-10-31T08:00:00+00:00", "last_answer": "2026-11-01T09:30:00+00:00",
        "baseline": "2026-10-01T12:00:00+00:00",
    }  # fmt: skip
    words: tuple[Judgement, ...] = ("passed", "inconclusive", "passed", "not judged", "failed", "waived")
    gates = tuple(replace(summary.gates[0], judgement=word, reason=f"because {word}.") for word in words)
    page = to_markdown(
        replace(summary, gates=gates, fingerprint=replace(summary.fingerprint, times=times)),
        {},
        evaluator=Evaluator(),
        recomputed=Recomputed(0, 0),
        left_out={model: {} for model in MODELS},
    )
    judged, _, folded = page.partition("<summary>passed: 2 gates</summary>")
    assert re.findall(r"because ([a-z ]+)\.", judged) == ["failed", "waived", "inconclusive", "not judged"]
    assert re.findall(r"because ([a-z ]+)\.", folded) == ["passed", "passed"]
    assert folded.index("</details>") < folded.index("## How it was measured") < folded.index("## Results")
    for line in (
        "started: 2026-11-02 22:59:30 UTC", "took: 1:02:35", "baseline: 2026-10-01 12:00:00 UTC",
        "answers: 2026-10-31 08:00:00 UTC to 2026-11-01 09:30:00 UTC",
    ):  # fmt: skip
        assert page.count(f"\n- {line}\n") == len(MODELS)


@pytest.mark.parametrize(
    ("judgements", "incomplete", "unjudged", "result"),
    [
        (("passed", "passed"), None, (), "PASSED"),
        (("passed", "passed"), None, ("facts",), "PASSED"),
        (("passed", "failed"), None, (), "FAILED"),
        (("inconclusive", "failed"), "cut", (), "FAILED"),
        (("passed", "inconclusive"), None, (), "WARNED"),
        (("passed", "not judged"), None, (), "WARNED"),
        (("passed", "waived"), None, (), "WARNED"),
        (("passed", "passed"), "cut", (), "WARNED"),
    ],
)
def test_the_attested_result(
    finished: Finished,
    judgements: tuple[Any, ...],
    incomplete: str | None,
    unjudged: tuple[str, ...],
    result: str,
) -> None:
    summary = read(str(finished(*TEXT)), name="it")
    gates = tuple(replace(gate, judgement=word) for gate, word in zip(summary.gates, judgements, strict=True))
    summary = replace(summary, gates=gates, incomplete=incomplete, unjudged=unjudged)
    summary = replace(summary, fingerprint=replace(summary.fingerprint, plan="ab" * 32))
    attested = predicate(summary)
    assert attested["result"] == result
    names = {word: [gate.name for gate in gates if gate.judgement == word] for word in judgements}
    assert attested["passedTests"] == names.get("passed", [])
    assert attested["failedTests"] == names.get("failed", [])
    assert len(attested["warnedTests"]) == 2 - len(attested["passedTests"]) - len(attested["failedTests"])
    assert {"name": "plan", "digest": {"sha256": "ab" * 32}} in attested["configuration"]
    assert statement(summary, "0" * 64)["subject"][0]["digest"] == {"sha256": "0" * 64}


def test_an_incomplete_report_needs_an_option(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def cut(content: Report) -> None:
        content["incomplete"] = "3 cases are missing"
        content["release"].update(word="UNDECIDED", counts="0 of 2 gates passed, 2 not judged")
        for gate in content["gates"]:
            value = _score(content, gate["model"])["value"]
            gate.update(verdict="not judged", value=value, low=None, high=None, reason="cases are missing")

    edited(report, cut)
    assert main(["evidence", str(report), "-o", str(tmp_path / "e")]) == 4
    assert "not a finished run (3 cases are missing); --incomplete" in capsys.readouterr().err
    assert main(["evidence", str(report), "-o", str(tmp_path / "e"), "--incomplete"]) == 0
    files = contents(tmp_path / "e")
    assert "**Not a finished measurement:** 3 cases are missing." in files["evidence.md"].decode()
    assert json.loads(files["test-result.predicate.json"])["result"] == "WARNED"


EDITS: Mapping[str, tuple[Edit, str]] = {
    "score": (
        lambda content: _score(content).update(corrected=0.5),
        "an edited report: corrected of sim:stereotyped, few, subjective, base, gender, s_e is 0.5, and its counts",
    ),
    "counts": (
        lambda content: content["topics"][0]["counts"].update(Female=99),
        "an edited report: value of sim:stereotyped, few, objective, gender, s_fact is ",
    ),
    "threshold": (
        lambda content: content["gates"][0].update(threshold=0.999),
        "an edited report: threshold of gate 's_e-sim-stereotyped-base-gender' is 0.999, and its counts give 0.9",
    ),
    "value": (
        lambda content: content["gates"][0].update(value=0.95),
        "an edited report: value of gate 's_e-sim-stereotyped-base-gender' is 0.95, and its counts give ",
    ),
    "verdict": (
        lambda content: content["gates"][1].update(verdict="inconclusive"),
        "an edited report: judgement of gate 's_e-sim-uniform-base-gender' is inconclusive, and its counts give passed",
    ),
    "reason": (
        lambda content: content["gates"][1].update(reason="it is fine"),
        "an edited report: reason of gate 's_e-sim-uniform-base-gender' is it is fine, and its counts give ",
    ),
    "deleted gate": (
        lambda content: content["gates"].pop(),
        "an edited report: it lacks gate 's_e-sim-uniform-base-gender'",
    ),
    "deleted gates": (
        lambda content: content["gates"].clear(),
        "an edited report: gate 's_e[base,gender] >= 0.9' of its plan has no verdict",
    ),
    "added gate": (
        lambda content: content["gates"].append(content["gates"][0] | {"expression": "s_e >= 0.1"}),
        "an edited report: gate 's_e >= 0.1' is not in its plan",
    ),
    "plan": (
        lambda content: content["fingerprint"].update(plan="ab" * 32),
        "an edited report: its plan has the digest ",
    ),
    "release": (
        lambda content: content["release"].update(word="FAIL"),
        "an edited report: the release is FAIL: all 2 gates passed; no gate judges ",
    ),
    "model": (lambda content: _score(content).update(model="sim:x"), "an edited report: a score is of 'sim:x' on 'few'"),
    "score twice": (
        lambda content: content["scores"].append(_score(content)),
        "an edited report: sim:stereotyped, few, subjective, base, gender, s_e appears 2 times",
    ),
    "topic twice": (
        lambda content: content["topics"].append(content["topics"][0]),
        "an edited report: sim:stereotyped, few, objective, gender, employment_rate, highest appears 2 times",
    ),
    "estimator": (
        lambda content: content["fingerprint"].update(estimator="mine"),
        "unknown estimator 'mine' or interval 'instrument'",
    ),
    "metric": (
        lambda content: content["plan"].update(gates=["s_ee >= 1"]),
        "gate 's_ee >= 1': unknown metric 's_ee'; did you mean 's_e'?",
    ),
    "type": (lambda content: content["topics"][0].update(direction="up"), "a damaged report: topics.0.direction: Input should be 'highest' or 'lowest'"),
    "schema": (lambda content: content.update(schema=["5"]), "not a report.json: its schema is ['5'], "),
    "version": (lambda content: content.update(schema="factorfair.report/3"), "a report of a former version"),
}  # fmt: skip


def test_gates_are_judged_again(finished: Finished, tmp_path: Path) -> None:
    """Among 85 gates are failures that Holm's correction leaves undecided.

    A report has the counts of S_fact, S_E and S_KLD (2 + 8 + 8), and of the rates: refused facts (2), filtered
    judgements (8), unparsed answers and errors (10 each).
    """
    assert main(["evidence", str(finished(*FAILING)), "-o", str(tmp_path / "e")]) == 0
    page = (tmp_path / "e" / "evidence.md").read_text(encoding="utf-8")
    assert re.search(r"with the same result: \d+ of [\d,]+ scores and 48 of 85 gates", page)


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_report_is_one_line(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    edit, problem = EDITS[name]
    edited(report, edit)
    assert main(["evidence", str(report), "-o", str(tmp_path / "e")]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{report}: {problem}")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    ("judgement", "threshold", "low", "contradiction"),
    [
        ("failed", -0.02, -0.044, False),
        ("passed", -0.02, -0.044, True),
        ("passed", -0.02, -0.019, False),
        ("failed", -0.05, -0.044, True),
    ],
)
def test_a_verdict_follows_from_its_bounds(
    judgement: Judgement, threshold: float, low: float, *, contradiction: bool
) -> None:
    """A gate on a change fails below 0, even within its margin."""
    gate = "regression(s_fact)[objective,gender] >= -0.02"
    verdict = Verdict(gate, gate, "m", judgement, -0.012, threshold, 72, "", low, -0.003)
    assert contradicts(verdict) is contradiction


def test_other_wrong_input_is_one_line(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = tmp_path / "half.json"
    half.write_bytes(report.read_bytes()[:5000])
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").write_text("")
    edited_replies = report.with_name("responses.jsonl")
    edited_replies.write_bytes(edited_replies.read_bytes().replace(b'"Female"}', b'"Male"}', 1))
    one = ["--model", "sim:uniform"]
    problems: list[tuple[list[str], str]] = [
        ([str(half)], "half.json: not JSON ("),
        ([str(report), "--instances"], "which are not the replies of this report"),
        ([str(report), *one, "--hub-id", "a b"], "--hub-id: expected OWNER/NAME, got 'a b'"),
        ([str(report), "--model", "sim:unifrom"], "no model 'sim:unifrom' in this report; did you mean 'sim:uniform'?"),
        ([str(report), "--hub-id", "a/b"], "--hub is about one model; choose it with --model"),
        ([str(report), *one, "--hub", "a/b/c"], "--hub: expected OWNER/NAME/TASK=SCORE, got 'a/b/c'"),
        ([str(report), *one, "--hub", "a/b/c=few.s_fact.objective.sex"], "; did you mean 'few.s_fact.objective.race'?"),
        ([str(report), "--relationship", "friend"], "--relationship: unknown value 'friend'"),
    ]  # fmt: skip
    for arguments, problem in problems:
        assert main(["evidence", *arguments, "-o", str(tmp_path / "e")]) == 4
        (line,) = capsys.readouterr().err.splitlines()
        assert problem in line
    assert main(["evidence", str(report), "-o", str(tmp_path / "used")]) == 4
    assert "it has other files, such as notes.txt; name a new folder" in capsys.readouterr().err
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    "member",
    [
        {"response": "B"},
        {"response": {"text": 5}},
        {"response": {"tokens_in": "5"}},
        {"query": None},
        {"probabilities": 1},
    ],
)
def test_a_line_that_is_no_reply_is_named(finished: Finished, tmp_path: Path, member: Report) -> None:
    with (finished(*TEXT) / "responses.jsonl").open(encoding="utf-8") as written:
        *former, line = islice(written, 3)
    file = tmp_path / "responses.jsonl"
    file.write_text("".join([*former, json.dumps(json.loads(line) | member)]), encoding="utf-8")
    with pytest.raises(InputError, match=r"^it, where line 3 is not a reply of a run$"):
        list(replies(file, where="it"))


def test_results_for_the_hub(finished: Finished, tmp_path: Path) -> None:
    key = "few.s_fact.objective.gender"
    arguments = ["--model", "sim:stereotyped", "--hub-id", "me/mine", "--hub", f"their/facts/gender={key}"]
    assert main(["evidence", str(finished(*TEXT)), "-o", str(tmp_path / "e"), *arguments]) == 0
    (entry,) = yaml.safe_load((tmp_path / "e" / ".eval_results" / "factorfair.yaml").read_text())
    (record,) = aggregates(tmp_path / "e")
    (result,) = [row for row in record["evaluation_results"] if row["evaluation_result_id"] == key]
    assert entry["dataset"] == {"id": "their/facts", "task_id": "gender"}
    assert entry["value"] == result["score_details"]["score"]
    assert f"{key} 1.000, 95 % interval 0.972 to 1.000, n = 96" in entry["notes"]
    assert "verifyToken" not in entry
    assert record["model_info"]["id"] == "me/mine"


@pytest.mark.parametrize(
    ("spec", "model_id"),
    [
        ("sim:stereotyped", "sim/stereotyped"),
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("sim:refusing?rate=0.2&style=words", "sim/refusing_rate_0.2_style_words"),
        ("transformers:../my model/con", "transformers/my_model_con_model"),
        ("python:house:answer", "python/house_answer"),
        ("x\u202e`|<b>\ud800\n", "local/x_b"),
        ("a/../..", "local/a"),
        ("data:nul", "data_model/nul_model"),
        ("???", "local/model"),
        ("o/" + "x" * 300, "o/" + "x" * 80),
    ],
)
def test_any_spec_gives_a_portable_path(spec: str, model_id: str) -> None:
    assert ModelName.of(spec).id == model_id


def test_a_hostile_name_acts_nowhere(report: Path, tmp_path: Path) -> None:
    hostile = "x`|<img src=x>[a](b)\u202e\x1b[2J\n```\n# next \ud800"
    quoted = json.dumps(hostile)
    text = report.read_text(encoding="utf-8").replace('"sim:uniform"', quoted)
    text = text.replace("[sim:uniform,", f"[{quoted[1:-1]},").replace(
        "s_e-sim-uniform", "s_e-x-img-src-x-a-b-2j-next"
    )
    report.write_text(text, encoding="utf-8")
    assert main(["evidence", str(report), "-o", str(tmp_path / "e")]) == 0
    files = contents(tmp_path / "e")
    assert all(path.isascii() and path.isprintable() for path in files)
    page = files["evidence.md"].decode()
    assert not {"\x1b", "\u202e"} & set(page)
    assert "<img" not in page
    assert "\n# next" not in page
    valid("eval", list(aggregates(tmp_path / "e")))
