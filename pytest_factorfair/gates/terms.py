"""How scores are judged: with which estimator, and how sure a verdict must be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pytest_factorfair.domain import Estimator, Interval
from pytest_factorfair.gates.waivers import Waiver
from pytest_factorfair.protocols.measurement import Estimation, Former
from pytest_factorfair.statistics.holm import ALPHA


@dataclass(frozen=True, slots=True)
class Terms:
    """What all gates of a run share.

    ``alpha`` is the chance, one-sided, to pass or to fail a score that lies exactly at its threshold;
    ``today`` is the day on which waivers must be in force, ``former`` what regression gates compare
    with.
    """

    estimator: Estimator = "corrected"
    interval: Interval = "instrument"
    alpha: float = ALPHA
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    former: Former | None = None

    @property
    def estimation(self) -> Estimation:
        return Estimation(self.estimator, self.interval)


COMMON = Terms()
