"""Model files of detectors: download with a known SHA-256, and convert FairFace's checkpoint to ONNX.

The checkpoint ``res34_fair_align_multi_7_20190809.pt`` is a state dict with torchvision's names. torch reads
the weights (without running code in the file), the graph is built node by node, and the package onnx writes
it. Neither torchvision nor an exporter is needed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.faces import SIDE
from pytest_factorfair.errors import InputError, MissingExtraError, nearest

_LARGEST = 2**30  # bytes; the largest of these models has 85 MB
_CHUNK = 2**20
_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch: its URL, the SHA-256 it must have, and its licence."""

    url: str
    sha256: str
    licence: str = ""


_ZOO = "https://media.githubusercontent.com/media/opencv/opencv_zoo"
_YUNET = "models/face_detection_yunet/face_detection_yunet"

# Checksums as published: in the Git LFS pointers of OpenCV's model zoo, and in uniface's table.
KNOWN: Mapping[str, Download] = {
    "fairface": Download(
        "https://github.com/yakhyo/fairface-onnx/releases/download/weights/fairface.onnx",
        "9c8c47d437cd310538d233f2465f9ed0524cb7fb51882a37f74e8bc22437fdbf",
        "CC BY 4.0, Kärkkäinen and Joo (FairFace); exported to ONNX by yakhyo/fairface-onnx (MIT)",
    ),
    "yunet": Download(
        f"{_ZOO}/47534e27c9851bb1128ccc0102f1145e27f23f98/{_YUNET}_2026may.onnx",
        "ebafce4e3c118d6554634be5c27ab333b4c047a9a8c3faf1d7cf93101c22f0f0",
        "MIT, Shiqi Yu (YuNet, for OpenCV 5)",
    ),
    "yunet-opencv4": Download(
        f"{_ZOO}/82b38c8f98e7b52aa171400f3e4c722352d0669f/{_YUNET}_2023mar.onnx",
        "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        "MIT, Shiqi Yu (YuNet, for OpenCV 4)",
    ),
}


def known(name: str) -> Download:
    """Look up the source of a known model.

    Raises:
        InputError: there is no such model.
    """
    if name not in KNOWN:
        raise InputError(f"unknown model '{name}'{nearest(name, KNOWN)}; any other needs a URL and a SHA-256")
    return KNOWN[name]


def fetch(source: Download, folder: Path) -> Path:
    """Download a file into a folder, unless the folder has it with the right checksum.

    The file appears only complete and with the right checksum; on failure an older file is kept.

    Raises:
        InputError: the URL is invalid, the download fails, or its checksum is wrong.
        MissingExtraError: pooch is not installed.
    """
    try:
        url = urlsplit(source.url)
    except ValueError:  # e.g. brackets without an IPv6 address
        url = urlsplit("")
    if url.scheme not in ("http", "https") or not Path(url.path).name:
        raise InputError(f"'{source.url}' is not a valid URL of a file; expected http://... or https://...")
    if not find_spec("pooch"):
        raise MissingExtraError("downloading a model", "images")
    pooch = import_module("pooch")
    pooch.get_logger().setLevel("WARNING")  # we report errors ourselves, in one line
    download = pooch.HTTPDownloader(progressbar=_Limit(), chunk_size=_CHUNK, timeout=_TIMEOUT)
    file = folder / Path(url.path).name
    try:
        pooch.retrieve(source.url, source.sha256, file.name, folder, downloader=download)
        file.chmod(0o644)  # pooch leaves the mode of a temporary file, readable by its owner only
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"'{source.url}' cannot be downloaded to {folder}: {reason}") from error
    return file


class _Limit:
    """A progress bar for pooch that stops a download that is too large."""

    total = 0

    def __init__(self) -> None:
        self._size = 0

    def update(self, size: int) -> None:
        self._size += size
        if max(self._size, self.total) > _LARGEST:
            raise OSError(f"it is larger than {_LARGEST} bytes")

    def reset(self) -> None:
        self._size = 0

    def close(self) -> None:
        """Do nothing."""


BLOCKS = (3, 4, 6, 3)
LOGITS = 18
OPSET, IR = 17, 8
_EPSILON = 1e-5

Weights = Mapping[str, NDArray[np.float32]]


def fairface(checkpoint: Path, target: Path) -> None:
    """Convert a checkpoint to an ONNX file with input (batch, 3, 224, 224) and logits (batch, 18).

    The file appears only when it is complete.

    Raises:
        InputError: the checkpoint is missing, is not a state dict, or not one of a ResNet-34 with 18 logits.
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
    try:
        loaded = import_module("torch").load(checkpoint, map_location="cpu", weights_only=True)
        weights = {  # torch's DataParallel prefixes every name with "module."
            str(name).removeprefix("module."): np.ascontiguousarray(tensor.detach().float().numpy())
            for name, tensor in loaded.items()
        }
    except Exception as error:  # torch raises anything for an unreadable file
        reason = str(error).partition("\n")[0]
        raise InputError(f"'{checkpoint}' cannot be read as a state dict of torch: {reason}") from error
    content = serialised(weights, where=str(checkpoint))
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)  # noqa: PTH105 - replaces an older file on every system
    except OSError as error:
        raise InputError(f"'{target}' cannot be written: {error.strerror}") from error


def serialised(weights: Weights, *, where: str) -> bytes:
    """Convert a state dict to the content of an ONNX file.

    Raises:
        InputError: a tensor is missing, has another shape, or does not belong to the network.
    """
    from onnx import TensorProto, checker, helper

    graph = _Graph(weights, where)
    x = graph.add("Relu", graph.convolved("input", "conv1", "bn1", (64, 3, 7), stride=2))
    x = graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for layer, count in enumerate(BLOCKS, start=1):
        width = 64 * 2 ** (layer - 1)
        for number in range(count):
            stride = 2 if layer > 1 and number == 0 else 1
            x = graph.block(x, f"layer{layer}.{number}", channels, width, stride)
            channels = width
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    weight, bias = graph.tensor("fc.weight", (LOGITS, 512)), graph.tensor("fc.bias", (LOGITS,))
    logits = graph.add("Gemm", x, weight, bias, name="logits", transB=1)
    unused = (name for name in weights.keys() - graph.used if not name.endswith("num_batches_tracked"))
    if surplus := sorted(unused):
        raise InputError(f"'{where}' is not FairFace: it has '{surplus[0]}', which a ResNet-34 does not")
    network = helper.make_graph(
        graph.nodes,
        "fairface",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch", LOGITS])],
        graph.constants,
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(network, ir_version=IR, opset_imports=opset, producer_name="pytest-factorfair")
    checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


class _Graph:
    """Collects the nodes and constants of the network, from its input to its output."""

    def __init__(self, weights: Weights, where: str) -> None:
        self._weights = weights
        self._where = where
        self.used: set[str] = set()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def block(self, x: str, prefix: str, channels: int, width: int, stride: int) -> str:
        """Add a residual block from ``channels`` to ``width`` channels; return the name of its output."""
        shortcut = x
        if stride != 1 or channels != width:
            names = f"{prefix}.downsample.0", f"{prefix}.downsample.1"
            shortcut = self.convolved(x, *names, (width, channels, 1), stride=stride)
        shape = width, channels, 3
        y = self.convolved(x, f"{prefix}.conv1", f"{prefix}.bn1", shape, stride=stride)
        shape = width, width, 3
        y = self.convolved(self.add("Relu", y), f"{prefix}.conv2", f"{prefix}.bn2", shape, stride=1)
        return self.add("Relu", self.add("Add", y, shortcut))

    def convolved(self, x: str, name: str, norm: str, shape: tuple[int, int, int], *, stride: int) -> str:
        """Add a convolution without bias and its batch normalisation; ``shape`` is (out, in, kernel)."""
        out, into, size = shape
        weight = self.tensor(f"{name}.weight", (out, into, size, size))
        y = self.add("Conv", x, weight, strides=[stride] * 2, pads=[size // 2] * 4, kernel_shape=[size] * 2)
        parts = ("weight", "bias", "running_mean", "running_var")
        rows = [self.tensor(f"{norm}.{part}", (out,)) for part in parts]
        return self.add("BatchNormalization", y, *rows, epsilon=_EPSILON)

    def add(self, kind: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def tensor(self, name: str, shape: tuple[int, ...]) -> str:
        """Add a tensor of the state dict as a constant; return its name."""
        from onnx import numpy_helper

        tensor = self._weights.get(name)
        if tensor is None or tensor.shape != shape:
            problem = "is missing" if tensor is None else f"is {tensor.shape}, not {shape}"
            raise InputError(
                f"'{self._where}' is not FairFace, a ResNet-34 with {LOGITS} logits: '{name}' {problem}"
            )
        self.used.add(name)
        self.constants.append(numpy_helper.from_array(tensor, name))
        return name
