"""The classifier FairFace in ONNX Runtime: the perceived race, gender and age of a face.

Code, data and weights of FairFace are by Kärkkäinen and Joo, CC BY 4.0. The network is a ResNet-34 over RGB
chips of 224 x 224, normalised as for ImageNet.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pytest_factorfair.detection import faces, groups
from pytest_factorfair.detection.faces import SIDE
from pytest_factorfair.detection.pipeline import Pipeline
from pytest_factorfair.detection.protocol import Detector, Floats, digest
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import Pixels

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
_SCALE = (1 / (255 * np.array(STD))).tolist()
_SHIFT = (np.array(MEAN) / np.array(STD)).tolist()
_SIZES = {len(classes): head for head, classes in HEADS.items()}
_EXPECTED = "one of 18 logits or three of 7, 2 and 9"
_SOURCE = re.compile(r"^/\S+:\d+ .*?\) (?=[A-Z])")
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def build(spec: DetectorSpec) -> Detector:
    """Build the detector ``fairface:FILE?faces=...``.

    Raises:
        InputError: a file is missing, or an option is wrong.
        MissingExtraError: a package of the extra ``images`` is not installed.
    """
    spec.allow(*groups.OPTIONS, *faces.OPTIONS, "device")
    spec.need("images")
    network = FairFace(spec.file(spec.target), device=spec.device())
    return groups.PictureDetector(spec, Pipeline(faces.build(spec), network))


class NodeArg(Protocol):
    """An input or output of a network in ONNX Runtime; a size that is None or text is variable."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def shape(self) -> Sequence[int | str | None]: ...


class FairFace:
    """The FairFace classifier in an ONNX file."""

    classes = HEADS

    def __init__(self, path: Path, *, device: str, name: str = "fairface") -> None:
        self._path = path
        self._device = device
        self._name = name
        self._session: Any = None
        self._input = ""
        self._heads: Mapping[str, tuple[str, slice]] = {}
        self._planes = np.empty((0, 3, SIDE, SIDE), np.float32)

    @cached_property
    def identity(self) -> Mapping[str, object]:
        return {"detector": self._name, "sha256": digest(self._path)}

    def load(self) -> None:
        if self._session is not None:
            return
        opened = session(self._path, self._device)
        try:
            check_input(opened.get_inputs())
            self._heads = heads(opened.get_outputs())
        except DetectorError as error:
            raise DetectorError(f"'{self._path}' is not a FairFace model: {error}") from None
        self._input = opened.get_inputs()[0].name
        self._session = opened

    def predict(self, chips: Pixels) -> Mapping[str, Floats]:
        self.load()
        count = len(chips)
        if count > len(self._planes):
            self._planes = np.empty(chips.shape, np.float32)  # reused, because allocating memory takes time
        feed = {self._input: normalised(chips, self._planes[:count])}
        try:
            outputs = self._session.run([name for name, _ in self._heads.values()], feed)
        except Exception as error:  # the runtime's error classes cannot be imported
            raise DetectorError(f"'{self._path}' fails on {count} faces: {_reason(error)}") from error
        for logits in outputs:
            if len(logits) != count or not np.isfinite(logits).all():
                problem = f"{len(logits)} rows" if len(logits) != count else "logits that are not finite"
                raise DetectorError(f"'{self._path}' is not a FairFace model: {problem} for {count} faces")
        return {
            head: softmax(logits[:, part])
            for (head, (_, part)), logits in zip(self._heads.items(), outputs, strict=True)
        }


def normalised(chips: Pixels, planes: Floats) -> Floats:
    """Normalise chips, uint8 (N, 3, 224, 224), for the network; writes the result to ``planes`` (float32)."""
    import cv2

    rows = len(chips), 3, SIDE * SIDE
    colours, floats = chips.reshape(rows), planes.reshape(rows)
    for channel, (scale, shift) in enumerate(zip(_SCALE, _SHIFT, strict=True)):
        colour = colours[:, channel]
        # A single pass: NumPy would need three, with intermediate results that exceed the cache.
        cv2.addWeighted(colour, scale, colour, 0, -shift, dst=floats[:, channel], dtype=cv2.CV_32F)
    return planes


def softmax(logits: Floats) -> Floats:
    """Convert logits (N, classes) to probabilities (N, classes)."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def check_input(inputs: Sequence[NodeArg]) -> None:
    """Raise DetectorError unless there is one input of float32 (any number, 3, 224, 224)."""
    expected = None, 3, SIDE, SIDE
    shape = [size if isinstance(size, int) else None for size in inputs[0].shape] if len(inputs) == 1 else []
    fits = len(shape) == len(expected) and shape[0] is None
    if not fits or any(size not in (None, goal) for size, goal in zip(shape, expected, strict=True)):
        raise DetectorError(f"its input is {_listed(inputs)}, not (any number, 3, {SIDE}, {SIDE})")
    if inputs[0].type != "tensor(float)":
        raise DetectorError(f"its input is {inputs[0].type}, not 32-bit floats")


def heads(outputs: Sequence[NodeArg]) -> dict[str, tuple[str, slice]]:
    """Find the output and columns of each head, by the shapes of the outputs.

    Raises:
        DetectorError: the outputs are neither one of 18 logits nor three of 7, 2 and 9.
    """
    if any(len(output.shape) == 1 or "int" in output.type for output in outputs):
        raise DetectorError(f"its outputs are {_listed(outputs)}: indices of classes, not {_EXPECTED}")
    widths = [output.shape[-1] if len(output.shape) > 1 else None for output in outputs]
    if widths == [sum(_SIZES)]:
        starts = np.cumsum([0, *_SIZES]).tolist()
        return {
            head: (outputs[0].name, slice(start, start + size))
            for (size, head), start in zip(_SIZES.items(), starts, strict=False)
        }
    by_head = {
        _SIZES[width]: output.name for width, output in zip(widths, outputs, strict=True) if width in _SIZES
    }
    if len(outputs) != len(HEADS) or by_head.keys() != HEADS.keys():
        raise DetectorError(f"its outputs are {_listed(outputs)}, not {_EXPECTED}")
    return {head: (by_head[head], slice(None)) for head in HEADS}


def _listed(nodes: Sequence[NodeArg]) -> str:
    return ", ".join(f"{node.name} ({', '.join(map(str, node.shape))})" for node in nodes) or "missing"


def session(path: Path, device: str) -> Any:
    """Open an ONNX Runtime session on ``device``: cpu, cuda, cuda:NUMBER, or auto (CUDA if it works).

    Raises:
        DetectorError: the runtime cannot run the file, or the requested CUDA device is not available.
    """
    onnxruntime = import_module("onnxruntime")
    has_cuda = _CUDA in onnxruntime.get_available_providers()
    if device.startswith("cuda") and not has_cuda:
        raise DetectorError(
            f"device={device}: this onnxruntime has no CUDA; "
            "install pytest-factorfair[images-gpu] instead of [images], never both"
        )
    wants_cuda = has_cuda and device != "cpu"
    providers: list[str | tuple[str, dict[str, str]]] = [_CPU]
    if wants_cuda:
        onnxruntime.preload_dlls()
        providers = [(_CUDA, {"device_id": device.partition(":")[2] or "0"}), _CPU]
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other threads need the cores
    options.log_severity_level = 4  # we report errors ourselves, in one line
    try:
        opened = onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # the runtime's error classes cannot be imported
        raise DetectorError(f"'{path}' cannot be loaded as an ONNX model: {_reason(error)}") from error
    if wants_cuda and opened.get_providers()[0] != _CUDA:  # the runtime falls back silently
        if device != "auto":
            raise DetectorError(f"device={device}: CUDA could not be started; is there a GPU and its driver?")
        warnings.warn("the detector runs on the CPU: CUDA could not be started", stacklevel=2)
    return opened


def _reason(error: Exception) -> str:
    """The runtime's error message in one line, without references to its source code."""
    message = " ".join(str(error).split())
    return _SOURCE.sub("", message.rpartition("failed:")[2]).strip()
