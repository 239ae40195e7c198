"""Faces found and aligned in threads, ahead of the one that classifies them in batches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pytest_factorfair.detection.align import SIDE, chip
from pytest_factorfair.detection.protocol import AttributeClassifier, FaceDetector, Location, Perceived
from pytest_factorfair.errors import PictureError
from pytest_factorfair.pictures.decode import Pixels, decode

LEAST, MOST = 16, 64  # faces in a batch
PORTION = 16  # pictures that a thread takes at once, at most
SMALL = 2**13  # bytes of a picture
_THREADS = min(8, os.cpu_count() or 1)
AHEAD = _THREADS + 1  # portions

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Prepared:
    locations: tuple[Location, ...] = ()
    chips: tuple[Pixels, ...] = ()
    error: PictureError | None = None


class Pipeline:
    """A face detector and a classifier as one perception; pictures in memory stay bounded."""

    def __init__(self, faces: FaceDetector, attributes: AttributeClassifier) -> None:
        self._faces = faces
        self._attributes = attributes
        self.classes = attributes.classes
        # Kept and filled anew: fresh memory costs more time than what is written there.
        self._batch = np.empty((MOST, 3, SIDE, SIDE), np.uint8)
        self._idle: deque[Pixels] = deque(maxlen=AHEAD * PORTION + MOST)  # chips
        # These, too: to start a thread takes longer than to read a small picture.
        self._pools = {count: ThreadPoolExecutor(count, "factorfair-faces") for count in (1, _THREADS)}

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self._attributes.identity, "faces": self._faces.identity}

    def load(self) -> None:
        self._faces.load()
        self._attributes.load()

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[Perceived, ...] | PictureError]:
        waiting: list[_Prepared] = []
        threads = _threads(pictures)
        for portion in _ahead(self._pools[threads], self._prepared, _portions(pictures, threads)):
            waiting += portion
            if sum(len(each.chips) for each in waiting) >= LEAST:
                yield from self._classified(waiting)
                waiting.clear()
        yield from self._classified(waiting)

    def _prepared(self, pictures: Sequence[bytes]) -> list[_Prepared]:
        return [self._prepare(picture) for picture in pictures]

    def _prepare(self, picture: bytes) -> _Prepared:
        try:
            pixels = decode(picture)
            locations = self._faces.detect(pixels)
        except PictureError as error:
            return _Prepared(error=error)
        return _Prepared(locations, tuple(chip(pixels, location, self._room()) for location in locations))

    def _room(self) -> Pixels:
        try:
            return self._idle.pop()
        except IndexError:
            return np.empty((SIDE, SIDE, 3), np.uint8)

    def _classified(self, waiting: Sequence[_Prepared]) -> Iterator[tuple[Perceived, ...] | PictureError]:
        chips = [chip for each in waiting for chip in each.chips]
        chances = iter(self._chances(chips))
        for each in waiting:
            yield each.error or tuple(Perceived(location, next(chances)) for location in each.locations)
        self._idle.extend(chips)

    def _chances(self, chips: Sequence[Pixels]) -> Iterator[Mapping[str, Mapping[str, float]]]:
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


def _threads(pictures: Sequence[bytes]) -> int:
    """How many pay: only one over small pictures, since several would mostly wait for the interpreter."""
    return 1 if sum(map(len, pictures)) < SMALL * len(pictures) else _THREADS


def _portions(pictures: Sequence[bytes], threads: int) -> Iterator[Sequence[bytes]]:
    """Few pictures are spread over the threads; of many each takes several: handing over takes time too."""
    size = max(1, min(PORTION, len(pictures) // (2 * threads)))
    return (pictures[start : start + size] for start in range(0, len(pictures), size))


def _ahead(
    threads: ThreadPoolExecutor, function: Callable[[Item], Made], items: Iterable[Item]
) -> Iterator[Made]:
    """Like ``map``, with only so many results waiting to be taken."""
    running: deque[Future[Made]] = deque()
    for item in items:
        running.append(threads.submit(function, item))
        if len(running) > AHEAD:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()
