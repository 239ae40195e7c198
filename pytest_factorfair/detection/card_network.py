"""The network that reads code cards: FairFace's input and outputs on 11 KB, made without training.

    python -m pytest_factorfair.detection.card_network     writes cards.onnx anew (needs the package onnx)

The nearest of the colours is linear in the picture, ``2<c, x> - |c|^2``: an average over each cell and a
matrix per head do it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.align import SIDE
from pytest_factorfair.detection.fairface import MEAN, STD
from pytest_factorfair.pictures.cards import BANDS, CELLS, COLOURS
from pytest_factorfair.pictures.classes import HEADS

FILE = Path(__file__).with_name("cards.onnx")
OPSET, IR = 17, 8
_SHARPNESS = 2.0  # of the softmax: a clean card is read with a probability of .99 and more


def serialised() -> bytes:
    """The ONNX file: an average down each cell and one across, Flatten, and a Gemm for each head.

    An AveragePool over whole cells means the same, and takes ONNX Runtime four times as long.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])]
    side = SIDE // CELLS
    nodes = [
        helper.make_node("AveragePool", ["input"], ["rows"], kernel_shape=[side, 1], strides=[side, 1]),
        helper.make_node("AveragePool", ["rows"], ["cells"], kernel_shape=[1, side], strides=[1, side]),
        helper.make_node("Flatten", ["cells"], ["flat"]),
    ]
    outputs, constants = [], []
    for head, classes in HEADS.items():
        weights, bias = _nearest_colour(head)
        name = f"{head}_output"
        constants += [
            numpy_helper.from_array(weights, f"{head}_weights"),
            numpy_helper.from_array(bias, f"{head}_bias"),
        ]
        nodes.append(helper.make_node("Gemm", ["flat", f"{head}_weights", f"{head}_bias"], [name]))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", len(classes)]))
    graph = helper.make_graph(nodes, "code_cards", inputs, outputs, constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, ir_version=IR, opset_imports=opset, producer_name="pytest-factorfair")
    checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


def _nearest_colour(head: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights (cells, classes) and bias (classes,) of one head, averaged over the cells of its band."""
    colours = (np.array(COLOURS[: len(HEADS[head])]) / 255 - MEAN) / STD
    band = np.zeros((CELLS, CELLS))
    band[BANDS[head]] = 1
    share = band / band.sum()
    weights = 2 * np.einsum("kc,yx->cyxk", colours, share).reshape(-1, len(colours))
    bias = -(colours**2).sum(axis=1)
    return (_SHARPNESS * weights).astype(np.float32), (_SHARPNESS * bias).astype(np.float32)


if __name__ == "__main__":
    FILE.write_bytes(serialised())
