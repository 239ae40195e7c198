"""Checklists: YAML to a validated checklist, to cases, to queries.

locate → source → overlay → a protocol's layout, rules and build (load) → its cases → its queries. The
protocols, one folder each, stand in ``protocols``.
"""

from pytest_factorfair.checklist.fact_or_fair.explain import explained
from pytest_factorfair.checklist.fact_or_fair.sources import sources
from pytest_factorfair.checklist.lint import lint
from pytest_factorfair.checklist.load import load
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.checklist.protocols import cases, notices, queries

__all__ = ["cases", "explained", "lint", "load", "notices", "queries", "shipped", "sources"]
