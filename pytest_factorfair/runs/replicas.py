"""Copies of models and of the detector on a Ray cluster; a run without a cluster has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_factorfair.models.replicas import ReplicatedModel
    from pytest_factorfair.runs.run import Run


def models_of(run: Run) -> list[ReplicatedModel]:
    """The models of a run that are asked in replicas."""
    if run.cluster is None:
        return []
    from pytest_factorfair.models.replicas import ReplicatedModel

    return [model for model in run.models.values() if isinstance(model, ReplicatedModel)]


def notices(run: Run) -> Iterator[str]:
    """One line for each model with no replicas or too few, and for a detector without any."""
    if run.cluster is None:
        return
    from pytest_factorfair.detection.replicas import ReplicatedDetector

    replicated = models_of(run)
    yield from (model.notice for model in replicated if model.notice is not None)
    local = [f"model '{spec}'" for spec, model in run.models.items() if model not in replicated]
    if run.settings.replicas.detectors and not isinstance(run.detector, ReplicatedDetector):
        local.append("the detector")
    yield from (f"{label} has no replicas: it stays in the controlling process" for label in local)


def close(run: Run) -> None:
    """End the replicas of the detector, and leave the cluster."""
    if run.cluster is None:
        return
    from pytest_factorfair.detection.replicas import ReplicatedDetector

    if isinstance(run.detector, ReplicatedDetector):
        run.detector.close()
    run.cluster.close()
