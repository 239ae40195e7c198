"""YuNet, OpenCV's face detector: a model file of 230 KB, MIT (OpenCV 5 takes other files than OpenCV 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.protocol import Location
from pytest_factorfair.detection.spec import digest
from pytest_factorfair.errors import DetectorError, PictureError
from pytest_factorfair.pictures.decode import Pixels

_OVERLAP = 0.3
_MOST_FACES = 5000
_COLUMNS = 15


class YuNet:
    """Finds faces with ``cv2.FaceDetectorYN``; each thread at work has a network to itself."""

    def __init__(self, path: Path, *, score: float, side: int) -> None:
        self._path = path
        self._score = score
        self._side = side
        self._idle: deque[Any] = deque()

    @cached_property
    def identity(self) -> Mapping[str, object]:
        told = {"finder": "yunet", "sha256": digest(self._path)}
        return {**told, "score": self._score, "side": self._side}

    def load(self) -> None:
        """Try the model on an empty picture: OpenCV finds out only there what it cannot run."""
        import cv2

        if self._idle:
            return
        try:
            self._found(np.zeros((1, 1, 3), np.uint8))
        except cv2.error as error:
            reason = " ".join(str(error).split())
            raise DetectorError(
                f"'{self._path}' is no YuNet for OpenCV {cv2.__version__}: {reason}"
            ) from error

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        import cv2

        height, width = pixels.shape[:2]
        scale = min(1.0, self._side / max(height, width))
        size = max(1, round(width * scale)), max(1, round(height * scale))
        smaller = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
        try:
            found = self._found(np.asarray(smaller, np.uint8))
        except cv2.error as error:
            raise PictureError(f"faces cannot be looked for: {' '.join(str(error).split())}") from error
        return parsed(found, (width / size[0], height / size[1]))

    def _found(self, picture: Pixels) -> NDArray[np.float32] | None:
        """The network's rows over the picture, in the corner of a square that is always of one size.

        OpenCV 5.0 finds nothing, or crashes, where a network is given another size than before.
        """
        square = np.zeros((self._side, self._side, 3), np.uint8)
        square[: picture.shape[0], : picture.shape[1]] = picture[:, :, ::-1]
        try:
            network = self._idle.pop()
        except IndexError:
            network = self._network()
        _, found = network.detect(square)
        self._idle.append(network)
        return None if found is None else np.asarray(found, np.float32)

    def _network(self) -> Any:
        import cv2

        size = (self._side, self._side)
        before = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # errors are raised too
        try:
            return cv2.FaceDetectorYN.create(str(self._path), "", size, self._score, _OVERLAP, _MOST_FACES)
        finally:
            cv2.utils.logging.setLogLevel(before)


def parsed(found: NDArray[np.float32] | None, scale: tuple[float, float] = (1, 1)) -> tuple[Location, ...]:
    """YuNet's rows (N, 15) as locations, in pixels of a picture that is ``scale`` times as wide and high.

    A row is x, y, width, height, five points x, y (the person's right eye first, which is on the left of
    the picture) and the score. None is what OpenCV returns where there is no face.

    Raises:
        DetectorError: the array has another shape.
    """
    if found is None:
        return ()
    if found.ndim != 2 or found.shape[1] != _COLUMNS:  # noqa: PLR2004 - rows and columns
        raise DetectorError(f"YuNet gave an array of {found.shape} where rows of {_COLUMNS} are due")
    places = found[:, :14].reshape(-1, 7, 2).astype(np.float64) * scale
    return tuple(
        Location(
            (*row[0].tolist(), *row[1].tolist()),
            tuple((x, y) for x, y in row[2:].tolist()),
            float(score),
        )
        for row, score in zip(places, found[:, 14], strict=True)
    )
