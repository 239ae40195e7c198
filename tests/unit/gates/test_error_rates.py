"""A fast version of the benchmark: how often gates err, at one size and over all looks together."""

from __future__ import annotations

import pytest

from benchmarks.gates import GATES, row
from pytest_factorfair.gates import parse

SIZES = [pytest.param(text, score, n, looks, id=f"{text.split()[0]}-{n}x{looks}")
         for text, score, sizes in GATES for n, looks in sizes]  # fmt: skip
EACH = pytest.mark.parametrize(("text", "score", "n", "looks"), SIZES)


@EACH
def test_at_the_threshold_few_runs_are_decided_either_way(text: str, score: int, n: int, looks: int) -> None:
    """Fixed seeds; the standard error of 5 % over 500 runs is 1 point."""
    found = row(parse(text), score, n, looks=looks, offset=0.0, runs=500)
    assert 0 < found.passed <= 0.09
    assert 0 < found.failed <= 0.09


@EACH
def test_clear_cases_are_not_decided_wrongly(text: str, score: int, n: int, looks: int) -> None:
    below = row(parse(text), score, n, looks=looks, offset=-0.05, runs=500)
    above = row(parse(text), score, n, looks=looks, offset=0.02, runs=500)
    assert below.passed == 0
    assert above.failed <= 0.03
    if looks > 1:
        assert below.failed > 0.9
        assert n <= below.mean < 0.7 * looks * n  # five points away, less than three looks of four
