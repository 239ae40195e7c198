"""The stash keys of the plugin on pytest's config and items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_factorfair.domain import Record, Usage
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.progress import Meter

EXECUTION: pytest.StashKey[Execution] = pytest.StashKey()
"""On the config of every process that asks or judges; absent when the plugin is inert."""

PROGRESS: pytest.StashKey[Meter] = pytest.StashKey()
"""On the same configs; only the process that owns the terminal draws the line."""

RECORD: pytest.StashKey[Record] = pytest.StashKey()
"""On an item whose case was recorded."""

USAGE: pytest.StashKey[Usage] = pytest.StashKey()
"""On an item that asked, whether it recorded or not: its usage that is not on the run's account."""
