"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

An answer passes its modules in this order: files, asking, counting, scoring, metrics, printing. ``checklist``
holds the values they share, ``measure`` is the interface to gates and reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Asking, PublishedSetup
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases, notices
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import citable, explained, queries
from pytest_factorfair.benchmarks.fact_or_fair.asking.situations import conditions, situation
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.fact_or_fair.layout import Checklist
    from pytest_factorfair.benchmarks.fact_or_fair.measure import FactOrFairMeasuring
    from pytest_factorfair.benchmarks.fact_or_fair.printing.reporting import FactOrFairReporting
    from pytest_factorfair.checklist.loading import Files

__all__ = ["FactOrFairAsking"]


class FactOrFairAsking(Asking[FactOrFair, TopicCase]):
    """The statistics of a checklist, asked as facts and as choices among people."""

    name = "fact_or_fair"
    checklist = FactOrFair
    published = PublishedSetup({"size": "1024x1024"}, {"races": "published-code"})
    cases = staticmethod(cases)
    queries = staticmethod(queries)
    notices = staticmethod(notices)
    situation = staticmethod(situation)
    conditions = staticmethod(conditions)
    explained = staticmethod(explained)
    citable = staticmethod(citable)

    @property
    def measuring(self) -> FactOrFairMeasuring:
        from pytest_factorfair.benchmarks.fact_or_fair.measure import FactOrFairMeasuring

        return FactOrFairMeasuring()

    @property
    def reporting(self) -> FactOrFairReporting:
        from pytest_factorfair.benchmarks.fact_or_fair.printing.reporting import FactOrFairReporting

        return FactOrFairReporting()

    def files(self) -> Files[Checklist, FactOrFair]:
        from pytest_factorfair.benchmarks.fact_or_fair.rules import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.fact_or_fair.importer import IMPORTERS

        return IMPORTERS
