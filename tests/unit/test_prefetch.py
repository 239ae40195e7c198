from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.plugin.collection import ASSIGNMENT
from pytest_factorfair.plugin.prefetch import Prefetch
from pytest_factorfair.session.prefetch import LEAST, MOST

CONNECTIONS = 10


class Execution:
    """Notes which cases are asked ahead."""

    def __init__(self) -> None:
        self.run = SimpleNamespace(settings=SimpleNamespace(connections=CONNECTIONS))
        self.asked: list[int] = []

    def prefetch(self, assignment: Any) -> None:
        self.asked.append(assignment.number)


class Item:
    """What pytest tells of an item that asks a case of so many queries."""

    def __init__(self, number: int, samples: int) -> None:
        assignment = SimpleNamespace(number=number, case=SimpleNamespace(samples=samples))
        self.callspec = SimpleNamespace(params={ASSIGNMENT: assignment})
        self.fixturenames = ["factorfair_ask"]
        self._fixtureinfo = SimpleNamespace(name2fixturedefs={"factorfair_model": (object(),)})

    def iter_markers(self, _: str) -> tuple[()]:
        return ()


def asked(sizes: list[int], **config: object) -> list[list[int]]:
    """What is asked ahead at each item, of cases with so many queries."""
    execution = Execution()
    prefetch = Prefetch(execution)  # type: ignore[arg-type]  # a stand-in
    items: list[Any] = [Item(number, size) for number, size in enumerate(sizes)]
    session: Any = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(), **config), items=items)
    prefetch.pytest_collection_finish(session)
    found = []
    for one, following in zip(items, [*items[1:], None], strict=True):
        execution.asked.clear()
        prefetch.pytest_runtest_protocol(one, following)
        found.append(list(execution.asked))
    return found


def test_window_is_filled_again_once_half_of_it_is_used_up() -> None:
    found = asked([5] * 40)
    assert found[0] == list(range(16))  # 16 cases of 5 queries are 8 times the 10 connections
    assert found[1:9] == [[]] * 8  # at the last of them 40 queries are ahead, 4 times the connections
    assert found[9] == list(range(16, 25))
    assert found[18] == list(range(25, 34))
    assert sorted(number for one in found for number in one) == list(range(40))


@pytest.mark.parametrize("sizes", [[1] * 100, [24] * 9, [3, 50, 1, 1, 1, 30, 2, 2, 2, 2, 40, 1], [100]])
def test_connections_are_busy_until_all_is_asked(sizes: list[int]) -> None:
    done = 0
    for place, new in enumerate(asked(sizes)):
        done += len(new)
        ahead = sum(sizes[place:done])
        assert done == len(sizes) or ahead >= LEAST * CONNECTIONS
        assert len(new) < 2 or sum(sizes[place : done - 1]) < MOST * CONNECTIONS


def test_next_item_is_ahead_however_large_the_one_that_runs_is() -> None:
    assert asked([1000] * 4) == [[0, 1], [2], [3], []]


def test_worker_asks_its_next_item_only() -> None:
    assert asked([5] * 4, workerinput={}) == [[0, 1], [1, 2], [2, 3], [3]]
