"""What a model makes, told from its spec alone."""

from __future__ import annotations

import re

from pytest_factorfair.domain import Modality
from pytest_factorfair.models import prices

_SCHEMES = frozenset({"diffusers", "images"})
# For ids that litellm's list does not have, or where it is not installed.
_NAMES = re.compile(
    r"(?:^|[/-])(?:gpt-image|chatgpt-image|dall-e|imagen|stable-diffusion|sd3|flux)(?=[-.\d]|$)"
)


def modality(spec: str) -> Modality:
    """Pictures or text, where no checklist says it; a simulated or Python model of either makes text here."""
    scheme, colon, _ = spec.partition(":")
    if colon and scheme in _SCHEMES:
        return "image"
    return "image" if prices.mode(spec) == "image_generation" or _NAMES.search(spec) else "text"
