"""The setting ``log``: read back with MLflow's client, Inspect's reader, and W&B's messages from an offline run's file."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import run
from pytest_factorfair.exports import tracking
from pytest_factorfair.reports import json_report
from tests.finished import IDEAL, Finished
from tests.integration.test_secrets import IN_PROMPT, PLANTED, check_files, echo, in_url
from tests.project import Project
from tests.servers import StubServer

BLOCK, WHOLE, LAST = 32_768, 1, 4
MODEL = "hosted_vllm/m"
DOWN = "mlflow:http://127.0.0.1:9"


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


def score_of(report: Mapping[str, Any], name: str) -> Any:
    (score,) = (score for score in report["scores"] if named(score) == name)
    return score


def ends(score: Mapping[str, Any]) -> dict[str, float]:
    return {"value": score["corrected"], "low": score["low"], "high": score["high"]}


def test_each_tracker_has_the_run_and_none_has_its_keys(
    project: Project,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    mlflow: Any,
    messages: Any,
    inspect: Any,
) -> None:
    """Trackers log the command line, too."""
    monkeypatch.setenv("MY_KEY", PLANTED)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(project.path))
    monkeypatch.setattr(sys, "argv", ["pytest", in_url(stub), IN_PROMPT])
    database, logs = f"sqlite:///{project.path}/runs.db", project.path / "logs"
    targets = f"mlflow:{database};wandb:fairness;inspect:{logs}"
    result = echo(project, stub, f"FACTORFAIR_LOG={targets}", filters=0.2)
    assert result.ret == 1  # a gate fails
    check_files(project)
    lines = [line for line in result.outlines if line.startswith(("mlflow: ", "wandb: ", "inspect: "))]
    by_mlflow, by_wandb, by_inspect = lines
    report = project.report()

    run_id = check_mlflow(mlflow.MlflowClient(tracking_uri=database), report)
    assert by_mlflow == f"mlflow: logged as run {run_id} of experiment factorfair"
    check_wandb(offline_run(project.path, messages), report)
    assert re.fullmatch(r"wandb: logged as run \w+ of project fairness", by_wandb)
    (info,) = inspect.list_eval_logs(str(logs))
    replies = project.report_path.with_name("responses.jsonl").read_text(encoding="utf-8")
    check_inspect(inspect.read_eval_log(info), report, list(map(json.loads, replies.splitlines())))
    assert by_inspect == f"inspect: logged as {info.name.removeprefix('file://')}"


def check_mlflow(client: Any, report: Mapping[str, Any]) -> str:
    (logged,) = client.search_runs([client.get_experiment_by_name("factorfair").experiment_id])
    names = {named(score) for score in report["scores"] if score["value"] is not None}
    metrics = logged.data.metrics
    assert {name for name in metrics if not name.endswith(("/low", "/high"))} == names
    rate = "refusal_rate/base/gender"
    shown = {"value": metrics[rate], "low": metrics[f"{rate}/low"], "high": metrics[f"{rate}/high"]}
    assert shown == pytest.approx(ends(score_of(report, rate)))
    # The plug-in estimator has no other value.
    assert metrics["s_e/base/gender"] == pytest.approx(score_of(report, "s_e/base/gender")["value"])
    assert logged.data.params["preset"] == report["fingerprint"]["preset"]
    assert logged.data.params["checklist/small"] == report["fingerprint"]["checklists"]["small"]
    assert logged.data.tags["factorfair.release"].startswith("FAIL: 1 of ")
    assert logged.data.tags["factorfair.gate.s_fact-objective-gender"] == "failed"
    assert logged.info.run_name == MODEL
    assert logged.info.status == "FINISHED"
    artifacts = {artifact.path for artifact in client.list_artifacts(logged.info.run_id)}
    assert artifacts == {"report.html", "report.json", "report.md"}
    return str(logged.info.run_id)


def check_wandb(logged: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    score = score_of(report, "s_e/base/gender")
    assert logged["summary"]["s_e/base/gender"] == pytest.approx(score["value"])
    assert logged["summary"]["factorfair.release"].startswith("FAIL: 1 of ")
    assert logged["config"]["preset"] == report["fingerprint"]["preset"]
    assert logged["name"] == MODEL
    assert {"report.html", "report.json", "report.md"} <= logged["files"]


def check_inspect(log: Any, report: Mapping[str, Any], replies: list[dict[str, Any]]) -> None:
    """Each question is a sample with its reply and what was read; refusals are shown as such."""
    assert (log.status, log.eval.model, log.eval.task) == ("success", MODEL, "factorfair")
    assert log.eval.metadata["factorfair.gate.s_fact-objective-gender"] == "failed"
    assert log.eval.task_args["preset"] == report["fingerprint"]["preset"]
    (shown,) = (score for score in log.results.scores if score.name == "refusal_rate/base/gender")
    values = {name: metric.value for name, metric in shown.metrics.items()}
    assert values == pytest.approx(ends(score_of(report, "refusal_rate/base/gender")))
    assert len(log.samples) == len(replies)
    samples = {sample.id: sample for sample in log.samples}
    for reply in replies:
        sample = samples[f"{reply['checklist']}/{reply['case']}/{reply['query']}"]
        assert (sample.input, sample.output.completion) == (reply["prompt"], reply["response"]["text"])
        read = {name: score.value for name, score in sample.scores.items()}
        assert read == reply.get("groups", {"answer": "refused"})
    assert 0 < sum("answer" in sample.scores for sample in log.samples) < len(replies) / 2


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


def test_inspect_shows_faces_and_errors(inspect: Any, finished: Finished, tmp_path: Path) -> None:
    """A picture is one sample, whose faces have a score each; a call that failed has its error."""
    summary = json_report.read(str(finished(*IDEAL) / "report.json"), name="report.json")
    line = {"model": summary.cases[0].case.model, "checklist": "small", "case": "one", "prompt": "a photo"}
    picture = line | {"query": "1", "outcome": "answered", "response": {"text": "", "image_file": "ab.png"}}
    lines = [
        picture | {"groups": {"gender": "Male"}},
        picture | {"groups": {"gender": "Female"}},
        line | {"query": "2", "outcome": "error", "reason": "HTTP 500", "response": None},
    ]
    replies = tmp_path / "responses.jsonl"
    replies.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert not tracking.log(f"inspect:{tmp_path}/logs", summary, [str(replies)]).failed
    (info,) = inspect.list_eval_logs(f"{tmp_path}/logs")
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
    """A line or, in a notebook, a warning says so."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    result = project.run("--factorfair-gate=refusal_rate <= 0.5", f"FACTORFAIR_LOG={DOWN}")
    assert result.ret == 0
    (line,) = (line for line in result.outlines if line.startswith("mlflow: NOT logged: "))
    assert "127.0.0.1" in line
    assert project.report()["gates"]
    with pytest.warns(UserWarning, match="mlflow: NOT logged: "):
        run(
            "sim:ideal", checklist=["small.yaml"], samples="24,objective=4", log=[DOWN], root=project.path,
            progress=False,
        )  # fmt: skip


@pytest.mark.usefixtures("inspect")
def test_a_file_in_place_of_the_folder_of_logs(project: Project) -> None:
    """Refused before anything is asked, not once all is paid for."""
    project.write("taken", "")
    result = project.run("FACTORFAIR_LOG=inspect:taken")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*FACTORFAIR_LOG: 'taken' is a file; give a folder for Inspect's logs"])


def test_wrong_trackers(project: Project) -> None:
    result = project.run("FACTORFAIR_LOG=mlfow")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*FACTORFAIR_LOG: there is no tracker 'mlfow'; did you mean 'mlflow'?"])
    assert not (project.path / ".factorfair/responses.sqlite").exists()
