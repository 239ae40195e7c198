"""The detector of simulated runs: finds code cards, and classifies them with a small ONNX model.

    python -m pytest_factorfair.detection.simulated     writes cards.onnx again (needs the package onnx)

``cards.onnx`` (11 KB) has FairFace's input and outputs, but no trained weights: the nearest colour has the
largest ``2<c, x> - |c|^2``, which is linear in x, so averages over cells and a matrix per head suffice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pytest_factorfair.detection import groups
from pytest_factorfair.detection.faces import SIDE, CodeCards
from pytest_factorfair.detection.fairface import MEAN, STD, FairFace
from pytest_factorfair.detection.pipeline import Pipeline
from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.pictures.cards import BANDS, CELLS, COLOURS
from pytest_factorfair.pictures.classes import HEADS

FILE = Path(__file__).with_name("cards.onnx")
OPSET, IR = 17, 8
_SHARPNESS = 2.0  # scale of the softmax, with which a clean card gets a probability of at least .99


def build(spec: DetectorSpec) -> Detector:
    """Build the detector ``sim``, which reads code cards; ``flip`` is the rate of misread groups.

    Raises:
        InputError: an option is wrong, or a file is named.
        MissingExtraError: a package of the extra ``images`` is not installed.
    """
    spec.allow(*groups.OPTIONS, "flip")
    if spec.target:
        raise spec.wrong("'sim' takes no file; write sim, or sim?flip=0.2")
    spec.need("images")
    detector = groups.PictureDetector(spec, Pipeline(CodeCards(), FairFace(FILE, device="cpu", name="sim")))
    rate = spec.number("flip", 0)
    return SimulatedDetector(detector, rate) if rate else detector


class SimulatedDetector:
    """A detector with errors: misreads each group with probability ``rate``, uniformly as one of the others.

    The confusion matrix therefore has 1 - rate on its diagonal and rate / (k - 1) elsewhere; tests of the
    correction for a detector's errors use it. The draw depends on the picture's content, the face's position
    in it and the attribute, so the same picture is always misread in the same way.
    """

    def __init__(self, inner: Detector, rate: float) -> None:
        self._inner = inner
        self._rate = rate

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self._inner.identity, "flip": self._rate}

    def check(self, attributes: Sequence[Attribute]) -> None:
        self._inner.check(attributes)

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        detections = []
        for picture, detection in zip(pictures, self._inner.read(pictures, attributes), strict=True):
            seed = int.from_bytes(hashlib.sha256(picture).digest()[:8])
            faces = []
            for number, face in enumerate(detection.faces):
                groups = dict(face.groups)
                for attribute in attributes:
                    if attribute.name in groups:
                        random = np.random.default_rng([seed, number, *attribute.name.encode()])
                        errs, draw = random.random(2)
                        alternatives = [
                            group for group in attribute.groups if group != groups[attribute.name]
                        ]
                        if errs < self._rate:
                            groups[attribute.name] = alternatives[int(draw * len(alternatives))]
                faces.append(Face(groups, face.confidence, face.box))
            detections.append(Detection(tuple(faces), detection.error))
        return tuple(detections)


def card_network() -> bytes:
    """Build cards.onnx: averages over the rows and columns of each cell, Flatten, and a Gemm per head.

    A single AveragePool over whole cells would be equivalent, but takes ONNX Runtime four times as long.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    side = SIDE // CELLS
    nodes = [
        helper.make_node("AveragePool", ["input"], ["rows"], kernel_shape=[side, 1], strides=[side, 1]),
        helper.make_node("AveragePool", ["rows"], ["cells"], kernel_shape=[1, side], strides=[1, side]),
        helper.make_node("Flatten", ["cells"], ["flat"]),
    ]
    outputs, constants = [], []
    for head, classes in HEADS.items():
        colours = (np.array(COLOURS[: len(classes)]) / 255 - MEAN) / STD
        band = np.zeros((CELLS, CELLS))
        band[BANDS[head]] = 1
        # (cells, classes): the mean over the cells of the head's band
        weights = 2 * np.einsum("kc,yx->cyxk", colours, band / band.sum()).reshape(-1, len(colours))
        bias = -(colours**2).sum(axis=1)
        constants += [
            numpy_helper.from_array((_SHARPNESS * weights).astype(np.float32), f"{head}_weights"),
            numpy_helper.from_array((_SHARPNESS * bias).astype(np.float32), f"{head}_bias"),
        ]
        name = f"{head}_output"
        nodes.append(helper.make_node("Gemm", ["flat", f"{head}_weights", f"{head}_bias"], [name]))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", len(classes)]))
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])]
    graph = helper.make_graph(nodes, "code_cards", inputs, outputs, constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, ir_version=IR, opset_imports=opset, producer_name="pytest-factorfair")
    checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    FILE.write_bytes(card_network())
