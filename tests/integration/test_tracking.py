"""The setting ``log``: read back with MLflow's client, Inspect's reader, and W&B's messages from an offline run's file."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import run
from pytest_factorfair.reports import json_report, tracking
from tests.project import Project

GATES = ("--factorfair-gate=s_e[base,gender] >= 0.999", "--factorfair-gate=refusal_rate <= 0.5")
BLOCK, WHOLE, LAST = 32_768, 1, 4
MODEL = "sim:stereotyped?strength=0.9"


@pytest.fixture(scope="module")  # before a run in this process, which would forget what it imports
def mlflow() -> Any:
    return pytest.importorskip("mlflow", reason="needs the extra mlflow")


@pytest.fixture(scope="module")
def inspect() -> Any:
    return pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")


@pytest.fixture(scope="module")
def messages() -> Any:
    return pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="needs the extra wandb")


def named(score: Mapping[str, Any]) -> str:
    return f"{score['metric']}/{score['context'] or score['part']}/{score['attribute']}"


def test_mlflow(mlflow: Any, project: Project) -> None:
    uri = f"sqlite:///{project.path}/runs.db"
    result = project.run(f"FACTORFAIR_LOG=mlflow:{uri}", *GATES, model=MODEL)
    assert result.ret == 1
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("factorfair")
    assert experiment is not None
    (logged,) = client.search_runs([experiment.experiment_id])
    result.stdout.fnmatch_lines([f"mlflow: logged as run {logged.info.run_id} of experiment factorfair"])
    report = project.report()
    rows = [score for score in report["scores"] if score["value"] is not None]
    names = set(map(named, rows))
    metrics = logged.data.metrics
    assert {name for name in metrics if not name.endswith(("/low", "/high"))} == names
    (score,) = (row for row in rows if named(row) == "refusal_rate/base/gender")
    assert [metrics[f"refusal_rate/base/gender{end}"] for end in ("", "/low", "/high")] == pytest.approx(
        [score["corrected"], score["low"], score["high"]]
    )
    (score,) = (row for row in rows if named(row) == "s_e/base/gender")
    assert metrics["s_e/base/gender"] == pytest.approx(score["value"])  # the plug-in estimator has no other
    assert logged.data.params["preset"] == report["fingerprint"]["preset"]
    assert logged.data.params["checklist/small"] == report["fingerprint"]["checklists"]["small"]
    assert logged.data.tags["factorfair.release"].startswith("FAIL: 1 of ")
    assert logged.data.tags["factorfair.gate.s_e-base-gender"] == "failed"
    assert logged.info.run_name == MODEL
    assert logged.info.status == "FINISHED"
    artifacts = {artifact.path for artifact in client.list_artifacts(logged.info.run_id)}
    assert artifacts == {"report.html", "report.json", "report.md"}


def records(log: bytes) -> Iterator[bytes]:
    """The records of a log of LevelDB's format: in blocks, each part with its checksum, length and kind."""
    offset, record = 7, b""  # after W&B's own header
    while offset + 7 <= len(log):
        remaining = BLOCK - offset % BLOCK
        _, length, kind = struct.unpack_from("<IHB", log, offset)
        if remaining < 7 or kind == 0:
            offset += remaining
            continue
        record += log[offset + 7 : offset + 7 + length]
        offset += 7 + length
        if kind in (WHOLE, LAST):
            yield record
            record = b""


def offline_run(folder: Path, messages: Any) -> dict[str, Any]:
    """The last summary, the configuration and the name in W&B's file of an offline run."""
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    logged: dict[str, Any] = {"summary": {}, "config": {}, "files": set()}
    for data in records(file.read_bytes()):
        record = messages.Record()
        record.ParseFromString(data)
        for item in record.summary.update:
            logged["summary"][item.key or item.nested_key[0]] = json.loads(item.value_json)
        if record.HasField("run"):
            logged["name"] = record.run.display_name
            logged["config"] |= {
                update.key: json.loads(update.value_json) for update in record.run.config.update
            }
        logged["files"] |= {file.path for file in record.files.files}
    return logged


def test_weights_and_biases_offline(messages: Any, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(project.path))
    result = project.run("FACTORFAIR_LOG=wandb:fairness", *GATES, model=MODEL)
    result.stdout.fnmatch_lines(["wandb: logged as run * of project fairness"])
    logged = offline_run(project.path, messages)
    report = project.report()
    (score,) = (row for row in report["scores"] if named(row) == "s_e/base/gender")
    assert logged["summary"]["s_e/base/gender"] == pytest.approx(score["value"])
    assert logged["summary"]["factorfair.release"].startswith("FAIL: 1 of ")
    assert logged["config"]["preset"] == report["fingerprint"]["preset"]
    assert logged["name"] == MODEL
    assert {"report.html", "report.json", "report.md"} <= logged["files"]


def test_inspect(inspect: Any, project: Project) -> None:
    """Each question is a sample with its reply and what was read; refusals are shown as such."""
    logs = project.path / "logs"
    model = "sim:stereotyped?refuse=0.2"
    result = project.run(
        f"FACTORFAIR_LOG=inspect:{logs}", "--factorfair-gate=refusal_rate <= 0.1", model=model
    )
    (info,) = inspect.list_eval_logs(str(logs))
    file = Path(info.name.removeprefix("file://"))
    result.stdout.fnmatch_lines([f"inspect: logged as {file}"])
    log = inspect.read_eval_log(info)
    report = project.report()
    assert (log.status, log.eval.model, log.eval.task) == ("success", model, "factorfair")
    assert log.eval.metadata["factorfair.gate.refusal_rate-base-gender"] == "failed"
    assert log.eval.task_args["preset"] == report["fingerprint"]["preset"]
    (score,) = (row for row in report["scores"] if named(row) == "refusal_rate/base/gender")
    (shown,) = (score for score in log.results.scores if score.name == "refusal_rate/base/gender")
    values = {name: metric.value for name, metric in shown.metrics.items()}
    assert values == pytest.approx({"value": score["corrected"], "low": score["low"], "high": score["high"]})
    replies = (project.path / ".factorfair/report/responses.jsonl").read_text(encoding="utf-8")
    lines = list(map(json.loads, replies.splitlines()))
    assert len(log.samples) == len(lines)
    samples = {sample.id: sample for sample in log.samples}
    for line in lines:
        sample = samples[f"{line['checklist']}/{line['case']}/{line['query']}"]
        assert (sample.input, sample.output.completion) == (line["prompt"], line["response"]["text"])
        read = {name: score.value for name, score in sample.scores.items()}
        assert read == line.get("groups", {"answer": "refused"})
    assert 0 < sum("answer" in sample.scores for sample in log.samples) < len(lines) / 2


def test_inspect_shows_faces_and_errors(inspect: Any, project: Project) -> None:
    """A picture is one sample, whose faces have a score each; a call that failed has its error."""
    project.run()
    summary = json_report.read(str(project.path / ".factorfair/report/report.json"), name="report.json")
    line = {"model": summary.cases[0].case.model, "checklist": "small", "case": "one", "prompt": "a photo"}
    picture = line | {"query": "1", "outcome": "answered", "response": {"text": "", "image_file": "ab.png"}}
    lines = [
        picture | {"groups": {"gender": "Male"}},
        picture | {"groups": {"gender": "Female"}},
        line | {"query": "2", "outcome": "error", "reason": "HTTP 500", "response": None},
    ]
    replies = project.path / "responses.jsonl"
    replies.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert not tracking.log(f"inspect:{project.path}/logs", summary, [str(replies)]).failed
    (info,) = inspect.list_eval_logs(f"{project.path}/logs")
    shown, failed = inspect.read_eval_log(info).samples
    assert {name: score.value for name, score in shown.scores.items()} == {
        "face 1: gender": "Male",
        "face 2: gender": "Female",
    }
    assert shown.metadata["picture"] == "ab.png"
    assert failed.error.message == "HTTP 500"
    archive = tracking.log("inspect", summary, ["responses.jsonl.gz"])
    assert archive.failed
    assert "keeps its replies in an archive" in str(archive)


@pytest.mark.usefixtures("mlflow")
def test_a_tracker_that_is_down_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    arguments = ("--factorfair-gate=refusal_rate <= 0.5", "FACTORFAIR_LOG=mlflow:http://127.0.0.1:9")
    result = project.run(*arguments)
    assert result.ret == 0
    (line,) = (line for line in result.outlines if line.startswith("mlflow: NOT logged: "))
    assert "127.0.0.1" in line
    assert project.report()["gates"]


@pytest.mark.usefixtures("mlflow")
def test_a_notebook_is_warned(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.warns(UserWarning, match="mlflow: NOT logged: "):
        run(
            "sim:ideal", checklist=["small.yaml"], samples="24", log=["mlflow:http://127.0.0.1:9"],
            root=project.path, progress=False,
        )  # fmt: skip


def test_wrong_trackers(project: Project) -> None:
    result = project.run("FACTORFAIR_LOG=mlfow")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*FACTORFAIR_LOG: there is no tracker 'mlfow'; did you mean 'mlflow'?"])
    assert not (project.path / ".factorfair/responses.sqlite").exists()
