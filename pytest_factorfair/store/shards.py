"""What the shards of a run have asked, for the process that judges them together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.keys import CANONICAL


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One of ``count`` shards of a run, numbered from 1; ``fingerprint`` is what all of them share.

    ``began`` is when it began, as ISO text; a shard that goes on keeps it. ``finished`` is whether it has
    asked all of its cases.
    """

    number: int
    count: int
    fingerprint: Mapping[str, Any]
    began: str
    finished: bool = False
    usage: Usage = field(default_factory=Usage)

    @property
    def run(self) -> str:
        """The hash of the fingerprint."""
        return hashlib.sha256(CANONICAL.encode(dict(self.fingerprint)).encode("ascii")).hexdigest()

    def row(self) -> dict[str, object]:
        """As the database keeps it."""
        return {
            "run": self.run,
            "number": self.number,
            "count": self.count,
            "fingerprint": CANONICAL.encode(dict(self.fingerprint)),
            "began": self.began,
            "finished": self.finished,
            "usage": json.dumps(asdict(self.usage)),
        }

    @classmethod
    def of(cls, row: Mapping[Any, Any], *, place: str) -> Self:
        """From a row of the database.

        Raises:
            StoreError: it is damaged.
        """
        try:
            fingerprint, usage = json.loads(row["fingerprint"]), Usage(**json.loads(row["usage"]))
            return cls(
                row["number"], row["count"], dict(fingerprint), row["began"], bool(row["finished"]), usage
            )
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{place}: the row of shard {row['number']} is damaged: run the shard again"
            ) from error
