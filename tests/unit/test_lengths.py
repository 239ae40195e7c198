"""What a plan says about the length of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pytest_factorfair.domain import Response
from pytest_factorfair.runs.planning.lengths import Lengths
from pytest_factorfair.store import Store, lengths
from pytest_factorfair.store.lengths import MeanLength
from tests import keeping

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run


def test_the_lengths_of_several_models_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    means = {"x/a": MeanLength(4, 40.0, 30.0), "x/b": MeanLength(1, 9.0, 5.0)}
    monkeypatch.setattr(Lengths, "_mean", lambda _self, spec, _mode: means[spec])
    written = Lengths(cast("Run", None), None)
    assert written.basis(["x/a"], "text") == ", each 40 as in 4 stored answers, 30 of them for reasoning"
    assert written.basis(means, "text") == (
        ", each 40 as in 4 stored answers of x/a, 30 of them for reasoning"
        ", each 9 as in 1 stored answer of x/b, 5 of them for reasoning"
    )


def test_answers_with_other_parameters_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: at most so many answers are read, all of them with these parameters."""
    monkeypatch.setattr(lengths, "MOST", 2)
    cold, warm = {"temperature": 0}, {"temperature": 1}
    with Store.open(f"sqlite:///{tmp_path / 'responses.sqlite'}") as store:
        for number, (identity, tokens) in enumerate([*[(cold, 8)] * 5, (warm, 400), (warm, 600)]):
            response = Response("A", tokens_out=tokens, tokens_reasoning=tokens - 8)
            keeping.put(
                store, f"{number:064}", response, model="x/a", identity=identity, prompt="", repeat=0
            ).result()
        assert lengths.mean_lengths(store, "x/a", warm) == {"text": MeanLength(2, 500.0, 492.0)}
        assert lengths.mean_lengths(store, "x/a", {"temperature": 2}) == {}
