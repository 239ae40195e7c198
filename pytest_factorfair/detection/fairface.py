"""FairFace through ONNX Runtime: race, gender and age of a chip, as perceived.

Code, data and weights of FairFace are by Kärkkäinen and Joo, CC BY 4.0. The network is a ResNet-34 over RGB
chips of 224 x 224, normalised as for ImageNet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pytest_factorfair.detection.align import SIDE
from pytest_factorfair.detection.onnx_session import reason, session
from pytest_factorfair.detection.protocol import Floats
from pytest_factorfair.detection.spec import digest
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import Pixels

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
_SCALE = (1 / (255 * np.array(STD))).tolist()
_SHIFT = (np.array(MEAN) / np.array(STD)).tolist()
_SIZES = {len(classes): head for head, classes in HEADS.items()}
_DUE = "one of 18 logits or three of 7, 2 and 9"


class Node(Protocol):
    """An input or output of a network, as ONNX Runtime tells it: None or a text is a size that is free."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def shape(self) -> Sequence[int | str | None]: ...


class FairFace:
    """The classifier of one ONNX file."""

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
        made = session(self._path, self._device)
        try:
            check_input(made.get_inputs())
            self._heads = heads(made.get_outputs())
        except DetectorError as error:
            raise DetectorError(f"'{self._path}' is no FairFace: {error}") from None
        self._input = made.get_inputs()[0].name
        self._session = made

    def predict(self, chips: Pixels) -> Mapping[str, Floats]:
        self.load()
        if len(chips) > len(self._planes):
            self._planes = np.empty(chips.shape, np.float32)  # kept: fresh memory costs time
        feed = {self._input: normalised(chips, self._planes[: len(chips)])}
        try:
            outputs = self._session.run([name for name, _ in self._heads.values()], feed)
        except Exception as error:  # the runtime's classes of errors are made at run time
            raise DetectorError(f"'{self._path}' fails over {len(chips)} faces: {reason(error)}") from error
        return {
            head: softmax(self._checked(logits, len(chips))[:, part])
            for (head, (_, part)), logits in zip(self._heads.items(), outputs, strict=True)
        }

    def _checked(self, logits: Floats, count: int) -> Floats:
        if len(logits) != count or not np.isfinite(logits).all():
            told = f"{len(logits)} rows" if len(logits) != count else "what is no number"
            raise DetectorError(f"'{self._path}' is no FairFace: it gives {told} for {count} faces")
        return logits


def normalised(chips: Pixels, planes: Floats) -> Floats:
    """uint8 (N, 3, 224, 224) as the network takes it, written into the float32 ``planes`` of that shape."""
    import cv2

    rows = len(chips), 3, SIDE * SIDE
    taken, made = chips.reshape(rows), planes.reshape(rows)
    for place, (scale, shift) in enumerate(zip(_SCALE, _SHIFT, strict=True)):
        colour = taken[:, place]
        # In one pass: NumPy takes three, and no cache holds the floats in between.
        cv2.addWeighted(colour, scale, colour, 0, -shift, dst=made[:, place], dtype=cv2.CV_32F)
    return planes


def softmax(logits: Floats) -> Floats:
    """Probabilities (N, classes) of logits (N, classes)."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def check_input(inputs: Sequence[Node]) -> None:
    """Raises DetectorError unless there is one input of float32 (any number, 3, 224, 224)."""
    free = [tuple(size if isinstance(size, int) else None for size in each.shape) for each in inputs]
    due = 3, SIDE, SIDE
    fits = len(free) == 1 and len(free[0]) == 1 + len(due) and free[0][0] is None
    if not fits or any(size not in (None, goal) for size, goal in zip(free[0][1:], due, strict=True)):
        raise DetectorError(f"its input is {_told(inputs)}, not (any number, 3, {SIDE}, {SIDE})")
    if inputs[0].type != "tensor(float)":
        raise DetectorError(f"its input is of {inputs[0].type}, not of 32-bit floats")


def heads(outputs: Sequence[Node]) -> dict[str, tuple[str, slice]]:
    """The output of each head, and which of its columns, told by their shapes.

    Raises:
        DetectorError: they are neither one of 18 logits nor three of 7, 2 and 9.
    """
    if any(len(each.shape) == 1 or "int" in each.type for each in outputs):
        raise DetectorError(f"its outputs are {_told(outputs)}: the numbers of classes, not {_DUE}")
    widths = [each.shape[-1] if len(each.shape) > 1 else None for each in outputs]
    if widths == [sum(_SIZES)]:
        starts = np.cumsum([0, *_SIZES]).tolist()
        return {
            head: (outputs[0].name, slice(start, start + size))
            for (size, head), start in zip(_SIZES.items(), starts, strict=False)
        }
    by_width = {
        _SIZES[width]: each.name for width, each in zip(widths, outputs, strict=True) if width in _SIZES
    }
    if len(outputs) != len(HEADS) or by_width.keys() != HEADS.keys():
        raise DetectorError(f"its outputs are {_told(outputs)}, not {_DUE}")
    return {head: (by_width[head], slice(None)) for head in HEADS}


def _told(nodes: Sequence[Node]) -> str:
    return ", ".join(f"{each.name} ({', '.join(map(str, each.shape))})" for each in nodes) or "nothing"
