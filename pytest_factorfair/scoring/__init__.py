"""The scores of FACT-OR-FAIR on plain arrays of counts, without pytest, a store or a model.

``counts`` has shape (..., statistics, 2, k): the number of answers for each group, for highest and lowest.
``truth`` has shape (statistics, 2): indices of groups.
"""

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import (
    s_e,
    s_fact,
    s_fair,
    s_kld,
    tradeoff_bound,
    tradeoff_distance,
)

__all__ = ["s_e", "s_fact", "s_fair", "s_kld", "tradeoff_bound", "tradeoff_distance"]
