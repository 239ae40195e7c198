"""Groups by attribute, as tens of thousands of answers have them and some dozens of mappings hold them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType


@lru_cache(maxsize=4096)
def shared(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """One mapping for all who have the same groups."""
    return MappingProxyType(dict(items))
