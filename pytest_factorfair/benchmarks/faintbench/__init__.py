"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout and rules → cases → queries → gallery → metrics → measure → printing; biasig: published files of its
successor → a checklist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Asking
from pytest_factorfair.benchmarks.faintbench.cases import cases, depicted_people, notices, queries
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.faintbench.layout import Checklist
    from pytest_factorfair.benchmarks.faintbench.measure import FaintbenchMeasuring
    from pytest_factorfair.benchmarks.faintbench.printing.reporting import FaintbenchReporting
    from pytest_factorfair.checklist.loading import Files

__all__ = ["FaintbenchAsking"]


class FaintbenchAsking(Asking[Faintbench, PromptCase]):
    """Prompts for pictures of people."""

    name = "faintbench"
    checklist = Faintbench
    cases = staticmethod(cases)
    queries = staticmethod(queries)
    notices = staticmethod(notices)
    situation = staticmethod(depicted_people)

    @property
    def measuring(self) -> FaintbenchMeasuring:
        from pytest_factorfair.benchmarks.faintbench.measure import FaintbenchMeasuring

        return FaintbenchMeasuring()

    @property
    def reporting(self) -> FaintbenchReporting:
        from pytest_factorfair.benchmarks.faintbench.printing.reporting import FaintbenchReporting

        return FaintbenchReporting()

    def files(self) -> Files[Checklist, Faintbench]:
        from pytest_factorfair.benchmarks.faintbench.rules import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.faintbench.biasig import IMPORTERS

        return IMPORTERS
