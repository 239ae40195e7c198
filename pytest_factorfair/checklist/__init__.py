"""Checklists: YAML to a validated checklist, to cases, to queries.

locate → source → overlay → a protocol's layout, rules and build (loading) → its cases → its queries. The
protocols, one folder each, stand in ``protocols``. What reads files takes a sixth of a second to import: a
worker, which is handed its checklists, does without.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.checklist.fact_or_fair.explain import explained
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.checklist.protocols import cases, notices, queries

if TYPE_CHECKING:
    from pytest_factorfair.domain import Checklist, Source

__all__ = ["cases", "explained", "lint", "load", "notices", "queries", "shipped", "sources"]


def load(name_or_path: str, *, truth: str, base: Path) -> Checklist:
    """The checklist of a shipped name or a path (relative to ``base``) under one truth set.

    Raises:
        ChecklistError: a file cannot be read or says what cannot be right; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    from pytest_factorfair.checklist import loading

    return loading.load(name_or_path, truth=truth, base=base)


def lint(name_or_path: str, *, base: Path) -> tuple[str, ...]:
    """Findings, each ``file:line: field: problem``, in the order of the file.

    Raises:
        InputError: as ``load``; only a valid checklist has a style.
    """
    from pytest_factorfair.checklist import linting

    return linting.lint(name_or_path, base=base)


def sources(name: str, content: str) -> tuple[Source, ...]:
    """Those of a shipped checklist with this content hash; of any other the report does not hold them."""
    from pytest_factorfair.checklist.fact_or_fair import sources as published

    return published.sources(name, content)
