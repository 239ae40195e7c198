"""Values as plain JSON: what is read is what was written, and nothing else is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import pytest

from pytest_factorfair.domain.plain import Decoder, plain


class Point(NamedTuple):
    x: float
    y: float | None = None


@dataclass(frozen=True)
class Shape:
    name: str
    points: tuple[Point, ...]
    box: tuple[float, float]
    weights: Mapping[str, float] | None = None


SHAPE = Shape("wedge", (Point(0.0, 1.0), Point(2.5)), (3.0, 4.0), MappingProxyType({"a": 0.5}))


def test_a_value_is_read_as_it_was_written() -> None:
    written = json.loads(json.dumps(SHAPE, default=plain))
    assert written == ["wedge", [[0.0, 1.0], [2.5, None]], [3.0, 4.0], {"a": 0.5}]
    assert Decoder().value(Shape, written) == SHAPE


def test_the_last_fields_may_be_missing() -> None:
    assert Decoder().value(Shape, ["dot", [[1.0]], [3.0, 4.0]]) == Shape("dot", (Point(1.0),), (3.0, 4.0))


@pytest.mark.parametrize(
    "other",
    [
        ["dot", []],  # without a field that has no default
        ["dot", [], [3.0, 4.0], None, "more"],
        ["dot", [], [3.0, 4.0, 5.0]],
        ["dot", [], [3.0, 4.0], [0.5]],
        {"name": "dot"},
        7,
    ],
)
def test_other_json_is_no_value(other: object) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        Decoder().value(Shape, other)
