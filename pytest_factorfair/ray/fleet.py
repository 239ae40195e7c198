"""The replicas of a run: copies of its models and of its detector in one Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pytest_factorfair.config.sources import Replicas
from pytest_factorfair.detection import Detector
from pytest_factorfair.models import Model
from pytest_factorfair.ray.cluster import Cluster
from pytest_factorfair.ray.detector import ReplicatedDetector
from pytest_factorfair.ray.model import ReplicatedModel
from pytest_factorfair.ray.pool import ReplicaSpec


class Fleet:
    """The replicas in the cluster at ``address`` (HOST:PORT; "" as for ``Cluster``), and what has none."""

    def __init__(self, address: str, replicas: Replicas) -> None:
        self.models: list[ReplicatedModel] = []
        self._cluster = Cluster(address)
        self._replicas = replicas
        self._detector: ReplicatedDetector | None = None
        self._local: list[str] = []

    def model(self, spec: str, local: Model, rebuild: Callable[[], Model] | None) -> Model:
        """The model in replicas, or the local one if no other machine can ``rebuild`` it."""
        if rebuild is None:
            self._local.append(f"model '{spec}'")
            return local
        replica_spec = ReplicaSpec(spec, rebuild, local.identity)
        self.models.append(ReplicatedModel(local, replica_spec, self._cluster, self._replicas))
        return self.models[-1]

    def detector(self, spec: str, local: Detector, rebuild: Callable[[], Detector] | None) -> Detector:
        """The detector in replicas, or the local one if no other machine can ``rebuild`` it."""
        if rebuild is None:
            self._local.append("the detector")
            return local
        replica_spec = ReplicaSpec(f"detector '{spec}'", rebuild, local.identity)
        self._detector = ReplicatedDetector(local, replica_spec, self._cluster, self._replicas.detectors)
        return self._detector

    def notices(self) -> Iterator[str]:
        """One line for each model with no replicas or too few, and for a detector without any."""
        yield from (model.notice for model in self.models if model.notice is not None)
        yield from (f"{label} has no replicas: it stays in the controlling process" for label in self._local)

    def close(self) -> None:
        """End the replicas of the detector, and leave the cluster."""
        if self._detector is not None:
            self._detector.close()
        self._cluster.close()
