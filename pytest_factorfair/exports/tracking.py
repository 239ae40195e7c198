"""The results of a run in the tools that a team uses: MLflow, Weights & Biases, and Inspect's log viewer."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_factorfair.domain import Summary
from pytest_factorfair.drawing.statements import NO_GATES, settings
from pytest_factorfair.errors import InputError, MissingExtraError, nearest
from pytest_factorfair.redaction import concealed, fit, shown_url
from pytest_factorfair.reports.json_report import RESPONSES

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

EXPERIMENT = "factorfair"
"""The experiment, or project, of runs where the user names none."""

UPLOADED = ("report.html", "report.md", "report.json")
AT_ONCE = 500
"""Metrics in one request; MLflow takes 1,000."""


class Tracker(NamedTuple):
    """``log`` takes where the user wants the runs ("" for the default), the run, and the files of its report;
    it returns what to find them by.
    """

    package: str
    extra: str
    log: Callable[[str, Summary, Sequence[Path]], str]


class TrackerResult(NamedTuple):
    """The result of logging a run to a tracker; one line as text."""

    tracker: str
    message: str
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.tracker}: {'NOT logged: ' if self.failed else 'logged as '}{self.message}"


def check(target: str, *, where: str) -> None:
    """Refuse a target that nothing can be logged to; ``where`` names the option.

    Raises:
        InputError: the tracker is unknown, or its folder is a file.
        MissingExtraError: its package is not installed.
    """
    name, _, destination = target.partition(":")
    if name not in TRACKERS:
        raise InputError(f"{where}: there is no tracker '{name}'{nearest(name, TRACKERS)}")
    if name == "inspect" and Path(destination).is_file():
        raise InputError(f"{where}: '{destination}' is a file; give a folder for Inspect's logs")
    if find_spec(TRACKERS[name].package) is None:
        raise MissingExtraError(f"{where}={shown_url(target)}", TRACKERS[name].extra)


def log(target: str, summary: Summary, written: Sequence[str]) -> TrackerResult:
    """Log a run to ``mlflow[:URI]``, ``wandb[:PROJECT]`` or ``inspect[:DIR]``.

    A tracker that fails changes nothing about the run.
    """
    name, _, destination = target.partition(":")
    try:
        reference = TRACKERS[name].log(destination, summary, list(map(Path, written)))
    except Exception as error:  # noqa: BLE001 - whatever a client raises, the verdict stands
        return TrackerResult(name, f"{type(error).__name__}: {fit(str(error))}", failed=True)
    return TrackerResult(name, reference)


def parameters(summary: Summary) -> dict[str, str | int]:
    """What makes two runs comparable, except the models."""
    run = summary.fingerprint
    sizes = {"samples": run.samples, "objective": run.objective}
    digests = {f"checklist/{name}": digest for name, digest in run.checklists.items()}
    return settings(summary) | sizes | digests


def scores(summary: Summary, model: str) -> dict[str, float]:
    """A model's scores by ``metric/place/attribute``, each with the ends of its 95 % interval."""
    model_scores = [score for score in summary.scores if score.model == model]
    several = len({score.checklist for score in model_scores}) > 1
    metrics = {}
    for score in model_scores:
        path = (score.checklist,) * several + (score.metric, score.context or score.part, score.attribute)
        value = score.shown
        for end, number in (("", value), ("/low", score.low), ("/high", score.high)):
            if number is not None and math.isfinite(number):
                metrics["/".join(path) + end] = number
    return metrics


def tags(summary: Summary, model: str) -> dict[str, str]:
    """The verdict on the release, and of each gate."""
    return {
        "factorfair.model": model,
        "factorfair.release": str(summary.release or NO_GATES),
        **{
            f"factorfair.gate.{verdict.name}": verdict.judgement
            for verdict in summary.gates
            if verdict.model in ("", model)
        },
    }


def to_mlflow(uri: str, summary: Summary, files: Sequence[Path]) -> str:
    """A run of MLflow for each model; nothing is set in the host process."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient(tracking_uri=uri or None)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    experiment_id = client.create_experiment(EXPERIMENT) if experiment is None else experiment.experiment_id
    names, timestamp = [], int(time.time() * 1000)
    for model in summary.fingerprint.models:
        run = client.create_run(experiment_id, run_name=model, tags=tags(summary, model)).info.run_id
        metrics = [Metric(name, value, timestamp, 0) for name, value in scores(summary, model).items()]
        params = [Param(name, str(value)) for name, value in parameters(summary).items()]
        client.log_batch(run, params=params)
        for start in range(0, len(metrics), AT_ONCE):
            client.log_batch(run, metrics=metrics[start : start + AT_ONCE])
        for file in _reports(files):
            client.log_artifact(run, str(file))
        client.set_terminated(run, "FINISHED")
        names.append(run)
    return f"run {', '.join(names)} of experiment {EXPERIMENT}"


def to_wandb(project: str, summary: Summary, files: Sequence[Path]) -> str:
    """A run of Weights & Biases for each model; WANDB_MODE=offline keeps it on disk."""
    import wandb

    names = []
    # Its metadata contain the command line.
    tells = any(concealed(argument) != argument for argument in sys.argv)
    settings = wandb.Settings(silent=True, console="off", x_disable_meta=tells)
    for model in summary.fingerprint.models:
        with wandb.init(
            project=project or EXPERIMENT,
            name=model,
            config=dict(parameters(summary)),
            settings=settings,
            reinit="create_new",
        ) as run:
            run.summary.update({**scores(summary, model), **tags(summary, model)})
            for file in _reports(files):
                run.save(str(file), base_path=str(file.parent), policy="now")
            names.append(run.id)
    return f"run {', '.join(names)} of project {project or EXPERIMENT}"


def _reports(files: Iterable[Path]) -> Iterator[Path]:
    return (file for file in files if file.name in UPLOADED)


def to_inspect(directory: str, summary: Summary, files: Sequence[Path]) -> str:
    """A log of Inspect for each model, with every question, its reply and its reading as a sample."""
    from inspect_ai.log import write_eval_log

    replies = next((file for file in files if file.name == RESPONSES), None)
    if replies is None:
        raise InputError(
            "a run with this many answers keeps its replies in an archive, which Inspect cannot show"
        )
    folder = Path(directory or os.environ.get("INSPECT_LOG_DIR") or "logs")
    stamp = summary.fingerprint.times["started"].replace(":", "-")
    names = []
    for number, model in enumerate(summary.fingerprint.models, 1):
        log = _log(summary, model, f"{EXPERIMENT}{number}", list(_samples(replies, model)))
        # JSON, because what writes .eval files goes through all former samples for each sample.
        name = folder / f"{stamp}_{EXPERIMENT}_{number}.json"
        write_eval_log(log, str(name))
        names.append(str(name))
    return ", ".join(names)


def _log(summary: Summary, model: str, task_id: str, samples: list[EvalSample]) -> EvalLog:
    """The log of one model."""
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalMetric,
        EvalPlan,
        EvalResults,
        EvalScore,
        EvalSpec,
        EvalStats,
    )

    times, metrics = summary.fingerprint.times, scores(summary, model)
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=times["started"],
            task=EXPERIMENT,
            task_id=task_id,
            dataset=EvalDataset(name=", ".join(summary.fingerprint.checklists), samples=len(samples)),
            model=model,
            config=EvalConfig(),
            task_args=dict(parameters(summary)),
            metadata=dict(tags(summary, model)),
            packages=dict(summary.fingerprint.versions),
        ),
        plan=EvalPlan(),
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[
                EvalScore(
                    name=name,
                    scorer=EXPERIMENT,
                    metrics={
                        end or "value": EvalMetric(name=end or "value", value=metrics[key])
                        for end in ("", "low", "high")
                        if (key := "/".join(filter(None, (name, end)))) in metrics
                    },
                )
                for name in metrics
                if not name.endswith(("/low", "/high"))
            ],
        ),
        stats=EvalStats(started_at=times["started"], completed_at=times["finished"]),
        samples=samples,
    )


def _samples(replies: Path, model: str) -> Iterator[EvalSample]:
    """A sample for each query; a picture has a score for each face and attribute."""
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    with replies.open(encoding="utf-8") as file:
        lines = (line for line in map(json.loads, file) if line["model"] == model)
        for (checklist, case, query), answers in groupby(
            lines, lambda line: (line["checklist"], line["case"], line["query"])
        ):
            faces: list[Any] = list(answers)
            first_face, prompt, response = faces[0], faces[0]["prompt"] or "", faces[0]["response"] or {}
            tokens = {end: response.get(f"tokens_{end}") or 0 for end in ("in", "out")}
            output = ModelOutput.from_content(response.get("model") or model, response.get("text", ""))
            output.usage = ModelUsage(
                input_tokens=tokens["in"], output_tokens=tokens["out"], total_tokens=sum(tokens.values())
            )
            read: dict[str, Score] = {}
            for number, face in enumerate(faces, 1):
                of = f"face {number}: " if len(faces) > 1 else ""
                values = face.get("groups") or {"answer": face["outcome"]}
                read |= {
                    f"{of}{attribute}": Score(
                        value=group,
                        answer=face.get("letter"),
                        explanation=face.get("reason") or face["outcome"],
                    )
                    for attribute, group in values.items()
                }
            yield EvalSample(
                id=f"{checklist}/{case}/{query}",
                epoch=1,
                input=prompt,
                target="",
                messages=[ChatMessageUser(content=prompt), *(choice.message for choice in output.choices)],
                output=output,
                scores=read,
                metadata={"checklist": checklist, "case": case, "picture": response.get("image_file", "")},
                error=EvalError(message=first_face.get("reason", ""), traceback="", traceback_ansi="")
                if first_face["outcome"] == "error"
                else None,
            )


TRACKERS: Mapping[str, Tracker] = {
    "inspect": Tracker("inspect_ai", "inspect", to_inspect),
    "mlflow": Tracker("mlflow", "mlflow", to_mlflow),
    "wandb": Tracker("wandb", "wandb", to_wandb),
}
