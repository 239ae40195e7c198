"""Wings: rooms that a run enters only if it names what is in them; the core imports them here alone."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from types import ModuleType


class Wing(StrEnum):
    """The modules through which the core enters a wing."""

    BATCHES = "batches.run"
    OPENAI_BATCHES = "batches.openai"
    ANTHROPIC_BATCHES = "batches.anthropic"
    FOLDER_BATCHES = "batches.folder"
    RAY = "ray.fleet"
    BUCKET = "store.durable.bucket"
    TRACKING = "exports.tracking"
    ERROR_TABLE = "labelling.error_table"
    LOGS = "logs.formats"

    def enter(self) -> ModuleType:
        """Import the module; call this in the main thread.

        pytest rewrites the modules of a plugin as they are imported, and the parser of CPython 3.11 fails if
        two threads do so at once.
        """
        return import_module(f"pytest_factorfair.{self.value}")
