"""What a plan says about the length of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from pytest_factorfair.session.lengths import Lengths
from pytest_factorfair.store.lengths import MeanLength

if TYPE_CHECKING:
    from pytest_factorfair.session.run import Run


def test_the_lengths_of_several_models_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    means = {"x/a": MeanLength(4, 40.0, 30.0), "x/b": MeanLength(1, 9.0, 5.0)}
    monkeypatch.setattr(Lengths, "_mean", lambda _self, spec, _mode: means[spec])
    lengths = Lengths(cast("Run", None), None)
    assert lengths.basis(["x/a"], "text") == ", each 40 as in 4 stored answers, 30 of them for reasoning"
    assert lengths.basis(means, "text") == (
        ", each 40 as in 4 stored answers of x/a, 30 of them for reasoning"
        ", each 9 as in 1 stored answer of x/b, 5 of them for reasoning"
    )
