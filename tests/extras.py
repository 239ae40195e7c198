"""Skip tests whose optional dependencies (extras in pyproject.toml) are not installed."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from importlib.util import find_spec

import pytest
from packaging.requirements import Requirement


@cache
def missing(extra: str) -> tuple[str, ...]:
    """The packages of an extra that are not installed."""
    requirements = map(Requirement, metadata.requires("pytest-factorfair") or ())
    packages = [
        requirement.name
        for requirement in requirements
        if requirement.marker is not None and requirement.marker.evaluate({"extra": extra})
    ]
    assert packages, f"there is no extra {extra}"
    return tuple(name for name in packages if not any(metadata.distributions(name=name)))


def needs(extra: str, *modules: str) -> pytest.MarkDecorator:
    """Mark a test that needs an extra, and modules that are in no extra; without them it is skipped.

    The environment of README has no extras and skips these tests. CI runs them in its second environment.
    """
    lacking = *missing(extra), *(module for module in modules if find_spec(module) is None)
    return pytest.mark.skipif(bool(lacking), reason=f"needs the extra {extra}: {', '.join(lacking)} missing")
