"""GEAR (github.com/Udolf15/GEAR-Predictor): age, race and gender of a face, computed by numpy.

Six convolutions, five normalisations with pooling, and two dense layers for each of three heads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SIDE = 198
"""Pixels of the square that it reads."""

CLASSES = {
    "gender": ("male", "female"),
    "race": ("white", "black", "asian", "indian", "other"),
    "age": ("up to 20", "21-25", "26-30", "31-40", "41-50", "51-60", "above 60"),
}
_HEADS = {"age": "dense_1", "race": "dense_2", "gender": "dense_3"}


class Gear:
    """The network of ``gear.json``, whose weights are half-precision numbers in ``gear.bin`` beside it."""

    def __init__(self, path: Path) -> None:
        manifest = json.loads(path.read_text(encoding="utf-8"))["weightsManifest"][0]
        content, start = path.with_suffix(".bin").read_bytes(), 0
        self._weights: dict[str, Floats] = {}
        for entry in manifest["weights"]:
            kind = np.int32 if entry["dtype"] == "int32" else np.float16
            count = int(np.prod(entry["shape"]))
            values = np.frombuffer(content, kind, count, start).astype(np.float32)
            self._weights[entry["name"].split("/", 2)[2]] = values.reshape(entry["shape"])
            start += values.size * np.dtype(kind).itemsize

    def __call__(self, face: NDArray[np.uint8]) -> Mapping[str, Floats]:
        """The probabilities of the classes of each head; ``face`` is RGB of shape (SIDE, SIDE, 3)."""
        image = self._convolved(face.astype(np.float32) / np.float32(255), 1)
        for layer in range(2, 7):
            image = self._pooled(self._convolved(image, layer), layer - 1)
        features = image.max(axis=(0, 1))
        return {
            head: _softmax(self._dense(np.maximum(self._dense(features, layer), 0), f"{head}_output"))
            for head, layer in _HEADS.items()
        }

    def _convolved(self, image: Floats, layer: int) -> Floats:
        kernel = self._weights[f"conv2d_{layer}/Conv2D/ReadVariableOp"]
        windows = sliding_window_view(image, kernel.shape[:2], axis=(0, 1))
        sums = np.tensordot(windows, kernel, axes=([3, 4, 2], [0, 1, 2]))
        result: Floats = np.maximum(sums + self._weights[f"conv2d_{layer}/BiasAdd/ReadVariableOp"], 0)
        return result

    def _pooled(self, image: Floats, layer: int) -> Floats:
        normalisation = f"batch_normalization_{layer}/FusedBatchNormV3"
        image = image * self._weights[f"{normalisation}/Scaled"] + self._weights[f"{normalisation}/Offset"]
        rows, columns = image.shape[0] // 2, image.shape[1] // 2
        windows = image[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, -1)
        result: Floats = windows.max(axis=(1, 3))
        return result

    def _dense(self, values: Floats, layer: str) -> Floats:
        weights = self._weights[f"{layer}/MatMul/ReadVariableOp"]
        result: Floats = values @ weights + self._weights[f"{layer}/BiasAdd/ReadVariableOp"]
        return result


def _softmax(values: Floats) -> Floats:
    powers: Floats = np.exp(values - values.max())
    result: Floats = powers / powers.sum()
    return result
