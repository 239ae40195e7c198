"""Batches are tested with an engine of their own, as the engine is."""

from tests.unit.engine.conftest import _quiet, empty, file, make_engine, store

__all__ = ["_quiet", "empty", "file", "make_engine", "store"]
