"""Attributes, chips and small networks for the tests of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pytest_factorfair.detection.faces import SIDE, chip
from pytest_factorfair.detection.protocol import Location
from pytest_factorfair.domain import Attribute
from pytest_factorfair.pictures.decode import Pixels

GENDER = Attribute("gender", ("Female", "Male"), {}, {})
RACE = Attribute("race", ("Asian", "Black", "Hispanic", "White"), {}, {})
BOTH = (GENDER, RACE)


def chips(count: int, *, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (count, 3, 224, 224), dtype=np.uint8)


def cut_out(pixels: Pixels, location: Location) -> Pixels:
    return chip(pixels, location, np.zeros((SIDE, SIDE, 3), np.uint8))


def network(
    path: Path,
    outputs: Sequence[tuple[str, Sequence[int | str]]],
    *,
    shape: Sequence[int | str] = ("batch", 3, 224, 224),
    kind: int = 1,
    opset: int = 17,
) -> Path:
    """Write an ONNX file whose outputs are zeros; ``kind`` 1 means floats, 7 means 64-bit integers."""
    from onnx import helper

    nodes, declared_outputs = [helper.make_node("Shape", ["input"], ["batch"], end=1)], []
    for name, size in outputs:
        widths = helper.make_tensor(f"{name}_rest", 7, [len(size) - 1], [int(width) for width in size[1:]])
        nodes += [
            helper.make_node("Constant", [], [f"{name}_widths"], value=widths),
            helper.make_node("Concat", ["batch", f"{name}_widths"], [f"{name}_shape"], axis=0),
            helper.make_node(
                "ConstantOfShape", [f"{name}_shape"], [name], value=helper.make_tensor("zero", kind, [1], [0])
            ),
        ]
        declared_outputs.append(helper.make_tensor_value_info(name, kind, size))
    declared_input = helper.make_tensor_value_info("input", 1, shape)
    graph = helper.make_graph(nodes, "zeros", [declared_input], declared_outputs)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    path.write_bytes(model.SerializeToString())
    return path
