"""A killed run loses no stored answer, and the next one asks again only what was in flight.

``python -m benchmarks.kills 100`` does so a hundred times.
"""

from __future__ import annotations

from pathlib import Path

from tests import kills
from tests.servers import StubServer


def test_killed_at_any_moment(tmp_path: Path, stub: StubServer) -> None:
    ground = kills.run(len(kills.VICTIMS), tmp_path, stub, copies=1)
    assert ground.queries == 6 * 4 + 4 * 2 * 24
    assert ground.calls >= ground.queries
    assert len(ground.copies) == 1
    assert set(ground.kills) == set(kills.VICTIMS)
