"""Dumb providers, one file each, behind one protocol: a request goes in, a response comes out."""

from pytest_factorfair.models.determinism import deterministic
from pytest_factorfair.models.modality import modality
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.registry import Factory, build
from pytest_factorfair.models.spec import ModelSpec, slug

__all__ = ["Factory", "Model", "ModelSpec", "build", "deterministic", "modality", "slug"]
