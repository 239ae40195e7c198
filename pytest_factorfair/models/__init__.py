"""Providers behind one protocol: a request goes in, a response comes out.

``registry`` finds the provider of a spec. A service combines a transport (HTTP or litellm) with a format
(text or pictures); a local model runs transformers or diffusers; the others are Python objects, files and
simulations.
"""

from pytest_factorfair.models.protocol import Model, deterministic, source_of
from pytest_factorfair.models.registry import Factory, build, modality, replicable
from pytest_factorfair.models.spec import ModelSpec, slug

__all__ = [
    "Factory",
    "Model",
    "ModelSpec",
    "build",
    "deterministic",
    "modality",
    "replicable",
    "slug",
    "source_of",
]
