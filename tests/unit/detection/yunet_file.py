"""A network with YuNet's twelve outputs that detects every white cell of 8 x 8 pixels as a face."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import numpy as np

FACE = 4  # cells wide and high
STRIDES = (8, 16, 32)
# Of the eyes, the nose and the corners of the mouth, in cells from the cell that fires.
POINTS = ((-1.0, -0.5), (1.0, -0.5), (0.0, 0.0), (-0.5, 1.0), (0.5, 1.0))


def write(path: Path) -> Path:
    """Write the network.

    OpenCV decodes a face from the centre of a cell plus shifts in cells, and the logarithm of its size.
    """
    from onnx import helper, numpy_helper

    picture = helper.make_tensor_value_info("input", 1, [1, 3, "height", "width"])
    nodes, outputs, constants = [], [], []

    def constant(name: str, values: object) -> str:
        constants.append(numpy_helper.from_array(np.array(values, np.float32), name))
        return name

    def add(kind: str, inputs: list[str], name: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], **options))
        return name

    constants.append(numpy_helper.from_array(np.array([1, -1, 1], np.int64), "rows"))
    bright = add("Conv", ["input", constant("mean", np.full((1, 3, 1, 1), 1 / 765))], "bright")
    shifts = {
        "bbox": [0, 0, log(FACE), log(FACE)],
        "kps": [coordinate for point in POINTS for coordinate in point],
    }
    for stride in STRIDES:
        cells = add(
            "AveragePool", [bright], f"cells_{stride}", kernel_shape=[stride] * 2, strides=[stride] * 2
        )
        flat = add("Reshape", [cells, "rows"], f"flat_{stride}")
        factor = constant(f"factor_{stride}", [[[1.0 if stride == STRIDES[0] else 0.0]]])
        for name in ("cls", "obj"):
            add("Mul", [flat, factor], f"{name}_{stride}")
        for name, values in shifts.items():
            zeros = constant(f"{name}_{stride}_zeros", [[[0.0] * len(values)]])
            wide = add("MatMul", [flat, zeros], f"{name}_{stride}_wide")
            add("Add", [wide, constant(f"{name}_{stride}_shift", [[values]])], f"{name}_{stride}")
    for name, width in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
        outputs += [
            helper.make_tensor_value_info(f"{name}_{stride}", 1, [1, None, width]) for stride in STRIDES
        ]
    graph = helper.make_graph(nodes, "white_cells", [picture], outputs, constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    path.write_bytes(model.SerializeToString())
    return path
