"""What a detector is: pictures go in, perceived groups come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pytest_factorfair.domain import Attribute, Detection


class Detector(Protocol):
    """Reads the perceived groups of the people in pictures.

    ``identity`` is everything that can change what it reads (models by content hash, mapping, votes),
    as JSON values: it stands in every report. Nothing heavy is loaded before the first ``read``.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Look whether the groups of these attributes can be perceived, before a picture is paid for.

        Raises:
            InputError: names the attribute or group, and what the detector knows.
        """
        ...

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """The detection of each picture, in their order; they are encoded, as a model returned them.

        A picture that cannot be read has an ``error``; a detector that cannot work at all raises.

        Raises:
            DetectorError: no picture can be read (a model file that does not load, no such device).
        """
        ...
