"""Which cases a shard asks, and how it learns its number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.config.settings import Shard, resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.errors import InputError
from pytest_factorfair.runs.shards import part


@given(st.lists(st.integers(1, 800), min_size=1, max_size=80), st.data())
def test_shards_are_disjoint_complete_stable_and_balanced(sizes: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(sizes)))
    cases: list[Any] = [
        SimpleNamespace(place=number, case=SimpleNamespace(samples=size)) for number, size in enumerate(sizes)
    ]
    parts: list[Any] = [part(cases, Shard(number, count)) for number in range(1, count + 1)]
    places = [[assignment.place for assignment in part] for part in parts]
    assert sorted(place_number for places_of_shard in places for place_number in places_of_shard) == list(
        range(len(sizes))
    )
    assert places == [sorted(places_of_shard) for places_of_shard in places]
    assert parts == [part(list(cases), Shard(number, count)) for number in range(1, count + 1)]
    loads = [sum(assignment.case.samples for assignment in part) for part in parts]
    assert max(loads) - min(loads) <= max(sizes)
    assert min(loads) > 0


SLURM = {"SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "8"}


def resolved(text: str, environment: Mapping[str, str], root: Path) -> Shard | None:
    typed = {
        "model": OptionValue(["sim:uniform"], "--factorfair-model", root),
        "shard": OptionValue(text, "SHARD", root),
    }
    return resolve(typed, environment, root=root, here=root).shard


@pytest.mark.parametrize(
    ("text", "environment", "number", "count"),
    [
        ("2/8", {}, 2, 8),
        ("1/1", {"CI_NODE_INDEX": "7", "CI_NODE_TOTAL": "9"}, 1, 1),
        ("auto", {"SLURM_ARRAY_TASK_ID": "0", **SLURM}, 1, 8),
        ("auto", {"SLURM_ARRAY_TASK_ID": "8", **SLURM, "SLURM_ARRAY_TASK_MIN": "1"}, 8, 8),
        ("auto", {"JOB_COMPLETION_INDEX": "3", "FACTORFAIR_SHARDS": "4"}, 4, 4),
        ("auto", {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "5"}, 1, 5),
    ],
)
def test_a_shard_is_named_as_number_of_count(
    text: str, environment: Mapping[str, str], number: int, count: int, tmp_path: Path
) -> None:
    assert resolved(text, environment, tmp_path) == Shard(number, count)


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("0/4", {}, "SHARD: there is no shard 0 of 4; expected I/N with I from 1 to N"),
        ("5/4", {}, "SHARD: there is no shard 5 of 4; expected I/N with I from 1 to N"),
        ("1/0", {}, "SHARD: there is no shard 1 of 0; expected I/N with I from 1 to N"),
        ("2", {}, "SHARD: expected I/N, such as 2/8, or auto, got '2'"),
        ("-1/4", {}, "SHARD: expected I/N, such as 2/8, or auto, got '-1/4'"),
        ("one/4", {}, "SHARD: expected I/N, such as 2/8, or auto, got 'one/4'"),
        ("auto/4", {}, "SHARD: expected I/N, such as 2/8, or auto, got 'auto/4'"),
        (
            "auto",
            {},
            "SHARD: auto finds none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, CI_NODE_INDEX; give I/N, such as 2/8",
        ),
        (
            "auto",
            {"JOB_COMPLETION_INDEX": "3"},
            "SHARD: auto needs FACTORFAIR_SHARDS, the number of shards, besides JOB_COMPLETION_INDEX",
        ),
        (
            "auto",
            {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "1"},
            "SHARD: auto finds a Slurm array of one task, such as one task of a larger array that is submitted again; name its shard, such as 3/8",
        ),
        # An array of tasks 2, 4 and 9
        (
            "auto",
            {"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_MIN": "2", "SLURM_ARRAY_TASK_COUNT": "3"},
            "SHARD: there is no shard 8 of 3; expected I/N with I from 1 to N",
        ),
    ],
)
def test_wrong_number_of_a_shard(
    text: str, environment: Mapping[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        resolved(text, environment, tmp_path)
    assert str(caught.value) == words


def test_a_shard_does_not_take_all_answers_from_the_store(tmp_path: Path) -> None:
    typed = {
        "model": OptionValue(["sim:uniform"], "M", tmp_path),
        "shard": OptionValue("1/2", "S", tmp_path),
        "reuse": OptionValue("only", "R", tmp_path),
    }
    with pytest.raises(InputError, match="S asks a part, and R nothing: give one"):
        resolve(typed, {}, root=tmp_path, here=tmp_path)
