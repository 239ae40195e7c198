"""``--factorfair-log``: read back with MLflow's client, and with W&B's messages from the file of an offline run."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import run
from tests.project import Project

mlflow = pytest.importorskip("mlflow", reason="needs the extra mlflow")
messages = pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="needs the extra wandb")
GATES = ("--factorfair-gate=s_e[base,gender] >= 0.999", "--factorfair-gate=refusal_rate <= 0.5")
BLOCK, WHOLE, LAST = 32_768, 1, 4
MODEL = "sim:stereotyped?strength=0.9"


def named(score: Mapping[str, Any]) -> str:
    return f"{score['metric']}/{score['context'] or score['part']}/{score['attribute']}"


def test_mlflow(project: Project) -> None:
    uri = f"sqlite:///{project.path}/runs.db"
    result = project.run(f"--factorfair-log=mlflow:{uri}", *GATES, model=MODEL)
    assert result.ret == 1
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("factorfair")
    assert experiment is not None
    (logged,) = client.search_runs([experiment.experiment_id])
    result.stdout.fnmatch_lines([f"mlflow: logged as run {logged.info.run_id} of experiment factorfair"])
    report = project.report()
    rows = [one for one in report["scores"] if one["value"] is not None]
    names = set(map(named, rows))
    found = logged.data.metrics
    assert {name for name in found if not name.endswith(("/low", "/high"))} == names
    (score,) = (one for one in rows if named(one) == "refusal_rate/base/gender")
    assert [found[f"refusal_rate/base/gender{end}"] for end in ("", "/low", "/high")] == pytest.approx(
        [score["corrected"], score["low"], score["high"]]
    )
    (score,) = (one for one in rows if named(one) == "s_e/base/gender")
    assert found["s_e/base/gender"] == pytest.approx(score["value"])  # the plug-in estimator has no other
    assert logged.data.params["preset"] == report["fingerprint"]["preset"]
    assert logged.data.params["checklist/small"] == report["fingerprint"]["checklists"]["small"]
    assert logged.data.tags["factorfair.release"].startswith("FAIL: 1 of ")
    assert logged.data.tags["factorfair.gate.s_e-base-gender"] == "failed"
    assert logged.info.run_name == MODEL
    assert logged.info.status == "FINISHED"
    kept = {one.path for one in client.list_artifacts(logged.info.run_id)}
    assert kept == {"report.html", "report.json", "report.md"}


def records(log: bytes) -> Iterator[bytes]:
    """The records of a log of LevelDB's format: in blocks, each part with its checksum, length and kind."""
    place, record = 7, b""  # after W&B's own header
    while place + 7 <= len(log):
        left = BLOCK - place % BLOCK
        _, length, kind = struct.unpack_from("<IHB", log, place)
        if left < 7 or kind == 0:
            place += left
            continue
        record += log[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (WHOLE, LAST):
            yield record
            record = b""


def offline_run(folder: Path) -> dict[str, Any]:
    """The last summary, the configuration and the name in W&B's file of an offline run."""
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    found: dict[str, Any] = {"summary": {}, "config": {}, "files": set()}
    for data in records(file.read_bytes()):
        record = messages.Record()
        record.ParseFromString(data)
        for item in record.summary.update:
            found["summary"][item.key or item.nested_key[0]] = json.loads(item.value_json)
        if record.HasField("run"):
            found["name"] = record.run.display_name
            found["config"] |= {one.key: json.loads(one.value_json) for one in record.run.config.update}
        found["files"] |= {one.path for one in record.files.files}
    return found


def test_weights_and_biases_offline(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(project.path))
    result = project.run("--factorfair-log=wandb:fairness", *GATES, model=MODEL)
    result.stdout.fnmatch_lines(["wandb: logged as run * of project fairness"])
    found = offline_run(project.path)
    report = project.report()
    (score,) = (one for one in report["scores"] if named(one) == "s_e/base/gender")
    assert found["summary"]["s_e/base/gender"] == pytest.approx(score["value"])
    assert found["summary"]["factorfair.release"].startswith("FAIL: 1 of ")
    assert found["config"]["preset"] == report["fingerprint"]["preset"]
    assert found["name"] == MODEL
    assert {"report.html", "report.json", "report.md"} <= found["files"]


def test_a_tracker_that_is_down_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    arguments = ("--factorfair-gate=refusal_rate <= 0.5", "--factorfair-log=mlflow:http://127.0.0.1:9")
    result = project.run(*arguments)
    assert result.ret == 0
    (line,) = (line for line in result.outlines if line.startswith("mlflow: NOT logged: "))
    assert "127.0.0.1" in line
    assert project.report()["gates"]


def test_a_notebook_is_warned(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.warns(UserWarning, match="mlflow: NOT logged: "):
        run(
            "sim:ideal", checklists=["small.yaml"], samples="24", log=["mlflow:http://127.0.0.1:9"],
            root=project.path, progress=False,
        )  # fmt: skip


def test_wrong_trackers(project: Project) -> None:
    result = project.run("--factorfair-log=mlfow")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--factorfair-log: there is no tracker 'mlfow'; did you mean 'mlflow'?"])
    assert not (project.path / ".factorfair/responses.sqlite").exists()
