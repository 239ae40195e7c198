"""Checklists: YAML to a validated checklist, to cases, to queries, and back from a prompt.

locate → source → overlay → layout, truths, wording → build (load); expand → prompts (queries).
"""

from pytest_factorfair.checklist.expand import cases, notices, queries
from pytest_factorfair.checklist.explain import explained
from pytest_factorfair.checklist.lint import lint
from pytest_factorfair.checklist.load import load
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.checklist.recognise import Recognised, recognise

__all__ = ["Recognised", "cases", "explained", "lint", "load", "notices", "queries", "recognise", "shipped"]
