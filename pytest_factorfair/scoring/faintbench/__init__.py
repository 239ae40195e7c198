"""The scores of FAIntbench on plain arrays of counts, without prompts or pictures.

    counts, demographic shares → implicit, explicit → cells → level
    counts of pairs of prompts → manifestation

Modes: ``corrected`` has intervals, ``paper`` has the printed formulas, ``published-code`` what the
authors' scripts compute.

After Luo et al., FAIntbench: A Holistic and Precise Benchmark for Bias Evaluation in Text-to-Image
Models, DMLR at ICML 2024.
"""

from pytest_factorfair.scoring.faintbench.alignment import (
    floor,
    jensen_shannon,
    rescaled,
    similarity,
    total_variation,
)
from pytest_factorfair.scoring.faintbench.cells import Cells, Mode, joined
from pytest_factorfair.scoring.faintbench.contrast import Definition
from pytest_factorfair.scoring.faintbench.delivery import Sides, explicit, mean_probability, sides
from pytest_factorfair.scoring.faintbench.implicit import divergence, implicit, rescaled_implicit
from pytest_factorfair.scoring.faintbench.levels import Level, level
from pytest_factorfair.scoring.faintbench.manifestation import Manifestation, manifestation, overall
from pytest_factorfair.scoring.faintbench.optimised import optimised
from pytest_factorfair.scoring.faintbench.pairs import Pairs, paired

__all__ = [
    "Cells",
    "Definition",
    "Level",
    "Manifestation",
    "Mode",
    "Pairs",
    "Sides",
    "divergence",
    "explicit",
    "floor",
    "implicit",
    "jensen_shannon",
    "joined",
    "level",
    "manifestation",
    "mean_probability",
    "optimised",
    "overall",
    "paired",
    "rescaled",
    "rescaled_implicit",
    "sides",
    "similarity",
    "total_variation",
]
