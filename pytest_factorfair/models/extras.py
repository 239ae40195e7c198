"""Whether the packages a model needs are there, without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from pytest_factorfair.errors import MissingExtraError
from pytest_factorfair.models.spec import ModelSpec


def need(spec: ModelSpec, extra: str, *packages: str) -> None:
    """Look for packages.

    Raises:
        MissingExtraError: one is missing; names the extra that brings them.
    """
    if not all(find_spec(package) for package in packages):
        raise MissingExtraError(f"model '{spec.text}'", extra)
