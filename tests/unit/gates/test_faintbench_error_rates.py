"""A small version of the benchmark: how often regression gates on FAIntbench's scores err."""

from __future__ import annotations

import pytest

from benchmarks.faintbench_gates import STUDIES, Study, row

pytestmark = pytest.mark.slow

SMALL = [study for study in STUDIES if study.prompts == "characteristics" or "intimate" in study.gate]
EACH = pytest.mark.parametrize("study", SMALL, ids=[study.gate.split()[0] for study in SMALL])
RUNS = 120


@EACH
def test_an_unchanged_model_passes_and_does_not_fail(study: Study) -> None:
    """Two thirds, at least, although each run draws its own pictures."""
    rates = row(study, fall=0.0, runs=RUNS)
    assert rates.failed <= 0.09
    assert rates.passed > 0.66


@EACH
def test_a_model_worse_by_the_margin_seldom_passes(study: Study) -> None:
    """The standard error of 5 % over 120 pairs of runs is 2 points."""
    assert row(study, fall=1.0, runs=RUNS).passed <= 0.09


@EACH
def test_a_much_worse_model_fails(study: Study) -> None:
    rates = row(study, fall=3.0, runs=RUNS // 4)
    assert rates.passed == 0
    assert rates.failed > 0.95
