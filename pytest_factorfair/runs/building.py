"""The models and the detector of a run: built from their specs, or described by the store of a replay."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair import models
from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.asking import AS_WE_DO, PublishedSetup
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import Checklist, Request, Response
from pytest_factorfair.errors import FatalModelError, InputError
from pytest_factorfair.models import prices
from pytest_factorfair.redaction import concealed

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.models import Factory, Model
    from pytest_factorfair.models.cluster import Cluster
    from pytest_factorfair.store import ShardRow

SIMULATED = "sim"
"""The detector of simulated models' pictures, which need not be named."""


class ModelsAndDetector(NamedTuple):
    """The models by spec, the detector of pictures, and the cluster that their replicas run in."""

    models: Mapping[str, Model]
    detector: Detector | None
    cluster: Cluster | None = None


class Builder:
    """Builds what a run asks; ``custom`` and ``detectors`` are the user's factories, by scheme or spec."""

    def __init__(
        self,
        settings: Settings,
        checklists: tuple[Checklist, ...],
        custom: Mapping[str, Factory],
        detectors: Mapping[str, DetectorFactory],
    ) -> None:
        self._settings = settings
        self._checklists = checklists
        self._custom = custom
        self._detectors = detectors
        self._asking = settings.reuse != "only" and not settings.plan
        self._published = _published(checklists) if settings.preset == "paper" else AS_WE_DO
        self._build_model = partial(
            models.build,
            arguments={
                name: value
                for name, value in settings.model_arguments.items()
                if name not in prices.ARGUMENTS
            },
            checklists=checklists,
            answers=settings.answers,
            asked=self._asking,
            defaults=self._published.arguments,
            folder=settings.folder,
        )

    def build(self) -> ModelsAndDetector:
        """Build the models in the order in which they were named, then the detector.

        Raises:
            InputError: one cannot be built, and the store does not describe it either.
            StoreError: the store of a replay cannot be read.
        """
        built = ModelsAndDetector(
            {spec: self._model(spec) for spec in self._settings.models}, self._detector()
        )
        return built if self._settings.cluster is None or not self._asking else self._replicated(built)

    def _model(self, spec: str) -> Model:
        try:
            return self._build_model(spec, custom=self._custom)
        except InputError:  # no weights, no key, no such package
            if (stored := _stored_model(self._settings, spec)) is None:
                raise
            return stored

    def _detector(self) -> Detector | None:
        """The detector of an image checklist; simulated models need none to be named."""
        settings, spec, first_checklist = self._settings, self._settings.detector, self._checklists[0]
        if first_checklist.modality == "text":
            if spec is not None:
                raise InputError(
                    f"{settings.where('detector')} {spec}: a detector reads pictures, and the checklist "
                    f"'{first_checklist.name}' is asked of language models; leave the option out"
                )
            return None
        from pytest_factorfair import detection

        if spec is None:
            real = next((named for named in settings.models if not named.startswith("sim:")), None)
            if real is not None:
                raise InputError(
                    f"model '{real}': its pictures need a detector; give "
                    "--factorfair-detector fairface:FILE?faces=FILE"
                )
            spec = SIMULATED
        try:
            built = detection.build(
                spec, custom=self._detectors, defaults=self._published.detector, asked=self._asking
            )
            for checklist in self._checklists:
                simple = [attribute for attribute in checklist.attributes if not attribute.crossed]
                detection.check(built, simple)
        except InputError as error:  # no weights, no such package
            return _stored_detector(settings, spec, error)
        return built

    def _replicated(self, built: ModelsAndDetector) -> ModelsAndDetector:
        """Leave the work to replicas in a cluster, where another machine can build the model or detector."""
        from pytest_factorfair import detection
        from pytest_factorfair.detection.replicas import ReplicatedDetector
        from pytest_factorfair.detection.vision import VisionDetector
        from pytest_factorfair.models.cluster import Cluster
        from pytest_factorfair.models.pool import ReplicaSpec
        from pytest_factorfair.models.replicas import ReplicatedModel

        settings, detector = self._settings, built.detector
        cluster = Cluster(settings.cluster or "")
        replicated: dict[str, Model] = {}
        for spec, local in built.models.items():
            replicated[spec] = local
            if models.replicable(spec, self._custom):
                replica_spec = ReplicaSpec(spec, partial(self._build_model, spec, custom={}), local.identity)
                replicated[spec] = ReplicatedModel(local, replica_spec, cluster, settings.replicas)
        looks = isinstance(detector, VisionDetector)  # its model is asked by this process's engine
        if detector is not None and settings.replicas.detectors and not looks:
            spec = settings.detector or SIMULATED
            if not {spec, spec.partition(":")[0]} & self._detectors.keys():
                rebuild = partial(detection.build, spec, custom={}, defaults=self._published.detector)
                replica_spec = ReplicaSpec(f"detector '{spec}'", rebuild, detector.identity)
                detector = ReplicatedDetector(detector, replica_spec, cluster, settings.replicas.detectors)
        return ModelsAndDetector(replicated, detector, cluster)


class StoredModel:
    """A model that cannot be built here; its stored answers can be used."""

    endpoint: str = "store"
    parallel: int | None = None

    def __init__(self, spec: str, identity: Mapping[str, object]) -> None:
        self._spec = spec
        self.identity = identity

    async def ask(self, _request: Request) -> Response:
        raise FatalModelError(f"model '{self._spec}' cannot be used here; only its stored answers can")

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _stored_model(settings: Settings, spec: str) -> StoredModel | None:
    """The model of this spec as described by shards in the store; None if none describes it.

    Raises:
        InputError: an argument differs from theirs.
        StoreError: the store cannot be read.
    """
    identities = [row.fingerprint.get("models", {}).get(spec) for row in _shards(settings)]
    identity = next((identity for identity in reversed(identities) if identity is not None), None)
    if identity is None or identity.get("answers", "text") != settings.answers:
        return None
    stored_values = {**identity, **identity.get("parameters", {})}
    for name, text in settings.model_arguments.items():
        if (
            name in stored_values
            and name not in prices.ARGUMENTS
            and not _is_value(concealed(text), stored_values[name])
        ):
            raise InputError(
                f"{settings.where('model-arg')}: {name}={text}, and the shards in the store were asked with "
                f"{name}={stored_values[name]}"
            )
    return StoredModel(spec, identity)


def _stored_detector(settings: Settings, spec: str, error: InputError) -> Detector:
    """The detector of this spec as described by shards in the store; ``error`` prevented building it.

    Raises:
        InputError: none describes it.
        StoreError: the store cannot be read.
    """
    from pytest_factorfair.detection import StoredDetector

    signatures = [row.fingerprint.get("detector", {}).get(concealed(spec)) for row in _shards(settings)]
    signature = next((signature for signature in reversed(signatures) if signature is not None), None)
    if signature is None:
        raise error
    return StoredDetector(spec, signature)


def _shards(settings: Settings) -> tuple[ShardRow, ...]:
    """The shards in the store of a replay; no other run can do without its models and detectors."""
    from pytest_factorfair.store import Store

    if settings.reuse != "only":
        return ()
    with Store.open(settings.store, read_only=True) as store:
        return store.shards()


def _is_value(text: str, value: object) -> bool:
    """Whether an argument as typed is this value of an identity."""
    try:
        return float(text) == float(str(value))
    except ValueError:
        return text == str(value)


def _published(checklists: Sequence[Checklist]) -> PublishedSetup:
    """How the papers of these checklists made and read pictures; the first checklist takes precedence."""
    arguments, detector = zip(*(benchmark_of(checklist).published for checklist in checklists), strict=True)
    return PublishedSetup(dict(ChainMap(*arguments)), dict(ChainMap(*detector)))
