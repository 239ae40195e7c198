"""The pipeline of built-in detectors: threads find and align faces, one thread classifies them in batches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.detection.faces import SIDE, chip
from pytest_factorfair.detection.protocol import AttributeClassifier, FaceDetector, Location, PerceivedFace
from pytest_factorfair.errors import PictureError
from pytest_factorfair.pictures.decode import Pixels, decode

LEAST, MOST = 16, 64  # maximum number of faces in a batch
PORTION = 16  # maximum number of pictures that a thread takes at once
SMALL = 2**13  # size in bytes up to which a picture counts as small
_THREADS = min(8, os.cpu_count() or 1)
AHEAD = _THREADS + 1  # maximum number of portions that are prepared in advance


@dataclass(frozen=True, slots=True)
class _PreparedPicture:
    locations: tuple[Location, ...] = ()
    chips: tuple[Pixels, ...] = ()
    error: PictureError | None = None


class Pipeline:
    """Combines a face detector and a classifier; the number of pictures in memory is bounded."""

    def __init__(self, faces: FaceDetector, attributes: AttributeClassifier) -> None:
        self._faces = faces
        self._attributes = attributes
        self.classes = attributes.classes
        # Memory and threads are reused: creating them takes longer than reading a small picture.
        self._batch = np.empty((MOST, 3, SIDE, SIDE), np.uint8)
        self._spare: deque[Pixels] = deque(maxlen=AHEAD * PORTION + MOST)  # chips
        self._pools = {count: ThreadPoolExecutor(count, "factorfair-faces") for count in (1, _THREADS)}

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self._attributes.identity, "faces": self._faces.identity}

    def load(self) -> None:
        self._faces.load()
        self._attributes.load()

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[PerceivedFace, ...] | PictureError]:
        waiting: list[_PreparedPicture] = []
        for portion in self._portions(pictures):
            waiting += portion
            if sum(len(prepared.chips) for prepared in waiting) >= LEAST:
                yield from self._classified(waiting)
                waiting.clear()
        yield from self._classified(waiting)

    def _portions(self, pictures: Sequence[bytes]) -> Iterator[list[_PreparedPicture]]:
        """Prepare the pictures in threads, in portions, a bounded number of portions ahead.

        Small pictures are prepared by one thread, because several would mostly wait for the interpreter's
        lock. A few large pictures are spread over the threads; if there are many, each thread takes several
        at once, because handing over costs time.
        """
        threads = 1 if sum(map(len, pictures)) < SMALL * len(pictures) else _THREADS
        size = max(1, min(PORTION, len(pictures) // (2 * threads)))
        running: deque[Future[list[_PreparedPicture]]] = deque()
        for start in range(0, len(pictures), size):
            portion = pictures[start : start + size]
            running.append(self._pools[threads].submit(lambda batch: [*map(self._prepare, batch)], portion))
            if len(running) > AHEAD:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def _prepare(self, picture: bytes) -> _PreparedPicture:
        try:
            pixels = decode(picture)
            locations = self._faces.detect(pixels)
        except PictureError as error:
            return _PreparedPicture(error=error)
        chips = []
        for location in locations:
            try:
                space = self._spare.pop()
            except IndexError:
                space = np.empty((SIDE, SIDE, 3), np.uint8)
            chips.append(chip(pixels, location, space))
        return _PreparedPicture(locations, tuple(chips))

    def _classified(
        self, waiting: Sequence[_PreparedPicture]
    ) -> Iterator[tuple[PerceivedFace, ...] | PictureError]:
        chips = [chip for prepared in waiting for chip in prepared.chips]
        probabilities = iter(self._probabilities(chips))
        for prepared in waiting:
            yield prepared.error or tuple(
                PerceivedFace(location, next(probabilities)) for location in prepared.locations
            )
        self._spare.extend(chips)

    def _probabilities(self, chips: Sequence[Pixels]) -> Iterator[Mapping[str, Mapping[str, float]]]:
        import cv2

        for start in range(0, len(chips), MOST):
            part = chips[start : start + MOST]
            for planes, face in zip(self._batch, part, strict=False):
                cv2.split(face, tuple(planes))  # much faster than a transposed copy
            predicted = self._attributes.predict(self._batch[: len(part)])
            rows = [predicted[head].tolist() for head in self.classes]
            for of_heads in zip(*rows, strict=True):
                yield {
                    head: dict(zip(names, row, strict=True))
                    for (head, names), row in zip(self.classes.items(), of_heads, strict=True)
                }
