"""DoFaiR: pictures of people of historical events, compared with the groups that took part.

layout → checklist (cases, queries, who may be painted) → crowds → metrics → measure → reporting; importing:
the authors' tables → a checklist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.asking import Asking
from pytest_factorfair.benchmarks.dofair.checklist import Dofair, SceneCase, cases, depicted_people, queries

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.dofair.layout import Checklist
    from pytest_factorfair.benchmarks.dofair.measure import DofairMeasuring
    from pytest_factorfair.benchmarks.dofair.reporting import DofairReporting
    from pytest_factorfair.checklist.loading import Files

__all__ = ["DofairAsking"]


class DofairAsking(Asking[Dofair, SceneCase]):
    """Prompts for pictures of the people of historical events."""

    name = "dofair"
    checklist = Dofair
    counts_probabilities = False
    counts_every_face = True
    cases = staticmethod(cases)
    queries = staticmethod(queries)
    situation = staticmethod(depicted_people)

    @property
    def measuring(self) -> DofairMeasuring:
        from pytest_factorfair.benchmarks.dofair.measure import DofairMeasuring

        return DofairMeasuring()

    @property
    def reporting(self) -> DofairReporting:
        from pytest_factorfair.benchmarks.dofair.reporting import DofairReporting

        return DofairReporting()

    def files(self) -> Files[Checklist, Dofair]:
        from pytest_factorfair.benchmarks.dofair.layout import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.dofair.importing import IMPORTERS

        return IMPORTERS
