"""How the modules of this package are imported during a run: as Python imports any other.

pytest takes a plugin's modules for tests: it reads the source of each at every start, to rewrite its
asserts, and CPython 3.11's parser fails where the loop thread has another rewritten at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class Plain:
    """Finds this package's modules before pytest does; there is no assert in them to be told of."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("pytest_factorfair.") else None


def import_plainly(config: pytest.Config) -> None:
    """From now on, until pytest ends."""
    finder = Plain()
    sys.meta_path.insert(0, finder)
    config.add_cleanup(lambda: sys.meta_path.remove(finder))
