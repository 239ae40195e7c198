"""The models and the detector of a replay that cannot be built here, as shards in its store describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_factorfair.errors import FatalModelError, InputError
from pytest_factorfair.models import prices
from pytest_factorfair.redaction import concealed
from pytest_factorfair.store import Store

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Request, Response
    from pytest_factorfair.store.sharing.shards import ShardRow


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


def stored_model(settings: Settings, spec: str) -> StoredModel | None:
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


def stored_detector(settings: Settings, spec: str, error: InputError) -> Detector:
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
