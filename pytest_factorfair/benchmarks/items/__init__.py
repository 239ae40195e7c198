"""Items: questions with options of their own, such as BBQ's and those of difference awareness.

layout → checklist (cases, queries, what respondents know) → votes → metrics → measure; importers: published
files of other benchmarks → checklists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Asking
from pytest_factorfair.benchmarks.items.checklist import ItemCase, Items, cases, queries, situation

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.items.layout import Checklist
    from pytest_factorfair.benchmarks.items.measure import ItemsMeasuring
    from pytest_factorfair.benchmarks.items.reporting import ItemsReporting
    from pytest_factorfair.checklist.loading import Files

__all__ = ["ItemsAsking"]


class ItemsAsking(Asking[Items, ItemCase]):
    """Questions with options of their own."""

    name = "items"
    checklist = Items
    cases = staticmethod(cases)
    queries = staticmethod(queries)
    situation = staticmethod(situation)

    @property
    def measuring(self) -> ItemsMeasuring:
        from pytest_factorfair.benchmarks.items.measure import ItemsMeasuring

        return ItemsMeasuring()

    @property
    def reporting(self) -> ItemsReporting:
        from pytest_factorfair.benchmarks.items.reporting import ItemsReporting

        return ItemsReporting()

    def files(self) -> Files[Checklist, Items]:
        from pytest_factorfair.benchmarks.items.layout import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.items.importers import IMPORTERS

        return IMPORTERS
