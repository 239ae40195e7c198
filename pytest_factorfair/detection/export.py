"""The published checkpoint of FairFace as an ONNX file: a ResNet-34 written out node by node.

The checkpoint ``res34_fair_align_multi_7_20190809.pt`` is a state dict with torchvision's names. The graph is
built from it directly, so that neither torchvision nor an exporter is needed: torch reads the file (weights
only: nothing in it is run), the package onnx writes the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.align import SIDE
from pytest_factorfair.errors import InputError, MissingExtraError

BLOCKS = (3, 4, 6, 3)
LOGITS = 18
OPSET, IR = 17, 8
_EPSILON = 1e-5

Weights = Mapping[str, NDArray[np.float32]]


def fairface(checkpoint: Path, target: Path) -> None:
    """Write the checkpoint as ONNX: "input" (batch, 3, 224, 224) to "logits" (batch, 18).

    The file appears whole or not at all.

    Raises:
        InputError: the checkpoint is not there, is no state dict, or is none of a ResNet-34 with 18 logits.
        MissingExtraError: torch or onnx is not installed.
    """
    if not checkpoint.is_file():
        raise InputError(f"there is no file '{checkpoint}' in {Path.cwd()}")
    if not (find_spec("torch") and find_spec("onnx")):
        raise MissingExtraError("exporting FairFace", "export")
    if not target.parent.is_dir():
        raise InputError(
            f"'{target}' cannot be written: there is no folder '{target.parent}' in {Path.cwd()}"
        )
    content = serialised(_weights(checkpoint), where=str(checkpoint))
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)  # noqa: PTH105 - it goes over an older file on every system
    except OSError as error:
        raise InputError(f"'{target}' cannot be written: {error.strerror}") from error


def serialised(weights: Weights, *, where: str) -> bytes:
    """The ONNX file of a state dict.

    Raises:
        InputError: a tensor is missing, has another shape, or is none of the network's.
    """
    from onnx import TensorProto, checker, helper

    graph = _Graph(weights, where)
    logits = graph.network()
    if left := sorted(
        name for name in weights.keys() - graph.used if not name.endswith("num_batches_tracked")
    ):
        raise InputError(f"'{where}' is no FairFace: it has '{left[0]}', which a ResNet-34 has not")
    made = helper.make_graph(
        graph.nodes,
        "fairface",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch", LOGITS])],
        graph.constants,
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(made, ir_version=IR, opset_imports=opset, producer_name="pytest-factorfair")
    checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


class _Graph:
    """Nodes and constants of the network, as they are asked for."""

    def __init__(self, weights: Weights, where: str) -> None:
        self._weights = weights
        self._where = where
        self.used: set[str] = set()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def network(self) -> str:
        """The whole of it; the name of its output."""
        x = self._add("Relu", self._convolved("input", "conv1", "bn1", (64, 3, 7), stride=2))
        x = self._add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for prefix, before, width, stride in _blocks():
            x = self._block(x, prefix, before, width, stride)
        x = self._add("Flatten", self._add("GlobalAveragePool", x))
        weight, bias = self._tensor("fc.weight", (LOGITS, 512)), self._tensor("fc.bias", (LOGITS,))
        return self._add("Gemm", x, weight, bias, name="logits", transB=1)

    def _block(self, x: str, prefix: str, before: int, width: int, stride: int) -> str:
        kept = x
        if stride != 1 or before != width:
            first, second = f"{prefix}.downsample.0", f"{prefix}.downsample.1"
            kept = self._convolved(x, first, second, (width, before, 1), stride=stride)
        shape = width, before, 3
        y = self._convolved(x, f"{prefix}.conv1", f"{prefix}.bn1", shape, stride=stride)
        y = self._convolved(
            self._add("Relu", y), f"{prefix}.conv2", f"{prefix}.bn2", (width, width, 3), stride=1
        )
        return self._add("Relu", self._add("Add", y, kept))

    def _convolved(self, x: str, name: str, norm: str, shape: tuple[int, int, int], *, stride: int) -> str:
        """A convolution without bias, and its batch normalisation; ``shape`` is out, in, kernel."""
        out, into, size = shape
        weight = self._tensor(f"{name}.weight", (out, into, size, size))
        y = self._add("Conv", x, weight, strides=[stride] * 2, pads=[size // 2] * 4, kernel_shape=[size] * 2)
        parts = ("weight", "bias", "running_mean", "running_var")
        rows = [self._tensor(f"{norm}.{part}", (out,)) for part in parts]
        return self._add("BatchNormalization", y, *rows, epsilon=_EPSILON)

    def _add(self, kind: str, *inputs: str, name: str = "", **options: Any) -> str:
        from onnx import helper

        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def _tensor(self, name: str, shape: tuple[int, ...]) -> str:
        from onnx import numpy_helper

        found = self._weights.get(name)
        if found is None or found.shape != shape:
            told = "is missing" if found is None else f"is {found.shape}, not {shape}"
            raise InputError(
                f"'{self._where}' is no FairFace, a ResNet-34 with {LOGITS} logits: '{name}' {told}"
            )
        self.used.add(name)
        self.constants.append(numpy_helper.from_array(found, name))
        return name


def _blocks() -> Iterator[tuple[str, int, int, int]]:
    """Of every block the prefix of its names, the channels before and after it, and its stride."""
    before = 64
    for layer, count in enumerate(BLOCKS, start=1):
        width = 64 * 2 ** (layer - 1)
        for number in range(count):
            yield f"layer{layer}.{number}", before, width, 2 if layer > 1 and number == 0 else 1
            before = width


def _weights(checkpoint: Path) -> Weights:
    """The state dict as arrays; ``module.`` before every name is DataParallel's."""
    torch = import_module("torch")
    try:
        loaded = torch.load(checkpoint, map_location="cpu", weights_only=True)
        return {
            str(name).removeprefix("module."): np.ascontiguousarray(tensor.detach().float().numpy())
            for name, tensor in loaded.items()
        }
    except Exception as error:  # torch says in many ways that it cannot read a file
        reason = str(error).partition("\n")[0]
        raise InputError(f"'{checkpoint}' cannot be read as a state dict of torch: {reason}") from error
