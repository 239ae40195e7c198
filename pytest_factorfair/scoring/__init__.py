"""Answers to distributions to scores: pure numpy, without pytest, a store or a model.

    records → counts → measurements → scores

The metrics work on plain count arrays, too: ``counts`` of shape (..., statistics, 2, k), answers
per group for highest and lowest, and ``truth`` of shape (statistics, 2), group indices.
"""

from pytest_factorfair.scoring.copies import copied, distinct
from pytest_factorfair.scoring.corrections import corrections
from pytest_factorfair.scoring.curve import tradeoff_bound, tradeoff_distance
from pytest_factorfair.scoring.fact import s_fact
from pytest_factorfair.scoring.fair import s_e, s_fair, s_kld
from pytest_factorfair.scoring.headline import headline
from pytest_factorfair.scoring.influence import influence, influence_ends, influence_estimate
from pytest_factorfair.scoring.metrics import estimate, score, worst_case
from pytest_factorfair.scoring.people_seen import people_seen
from pytest_factorfair.scoring.reasons import reason_shares
from pytest_factorfair.scoring.tabulate import tabulate
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.scoring.validity import cautions
from pytest_factorfair.statistics.confusion import Confusion
from pytest_factorfair.statistics.estimate import Estimate

__all__ = [
    "Confusion",
    "Estimate",
    "Tally",
    "cautions",
    "copied",
    "corrections",
    "distinct",
    "estimate",
    "headline",
    "influence",
    "influence_ends",
    "influence_estimate",
    "people_seen",
    "reason_shares",
    "s_e",
    "s_fact",
    "s_fair",
    "s_kld",
    "score",
    "tabulate",
    "tradeoff_bound",
    "tradeoff_distance",
    "worst_case",
]
