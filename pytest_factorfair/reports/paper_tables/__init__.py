"""The papers' tables for the models of one or several reports, as Markdown, CSV and LaTeX."""

from pytest_factorfair.reports.paper_tables.of_checklist import paper_tables
from pytest_factorfair.reports.paper_tables.table import PaperTable
from pytest_factorfair.reports.paper_tables.writers import WRITERS

__all__ = ["WRITERS", "PaperTable", "paper_tables"]
