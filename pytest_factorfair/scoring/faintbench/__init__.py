"""The scores of FAIntbench on plain arrays of counts, without prompts or pictures.

    records → gallery → levels, eta → scores
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
from pytest_factorfair.scoring.faintbench.change import change
from pytest_factorfair.scoring.faintbench.contrast import Definition
from pytest_factorfair.scoring.faintbench.delivery import Sides, explicit, mean_probability, sides
from pytest_factorfair.scoring.faintbench.gallery import Gallery, gallery, with_lost
from pytest_factorfair.scoring.faintbench.implicit import divergence, implicit, rescaled_implicit
from pytest_factorfair.scoring.faintbench.levels import Level, level
from pytest_factorfair.scoring.faintbench.manifestation import Manifestation, manifestation, overall
from pytest_factorfair.scoring.faintbench.measured import eta, explicit_level, floor_level, implicit_level
from pytest_factorfair.scoring.faintbench.optimised import optimised
from pytest_factorfair.scoring.faintbench.pairs import Pairs, paired
from pytest_factorfair.scoring.faintbench.scores import ALL, prompt_counts, scores, uncounted
from pytest_factorfair.scoring.faintbench.selection import Selection, vocabulary

__all__ = [
    "ALL",
    "Cells",
    "Definition",
    "Gallery",
    "Level",
    "Manifestation",
    "Mode",
    "Pairs",
    "Selection",
    "Sides",
    "change",
    "divergence",
    "eta",
    "explicit",
    "explicit_level",
    "floor",
    "floor_level",
    "gallery",
    "implicit",
    "implicit_level",
    "jensen_shannon",
    "joined",
    "level",
    "manifestation",
    "mean_probability",
    "optimised",
    "overall",
    "paired",
    "prompt_counts",
    "rescaled",
    "rescaled_implicit",
    "scores",
    "sides",
    "similarity",
    "total_variation",
    "uncounted",
    "vocabulary",
    "with_lost",
]
