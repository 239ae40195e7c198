from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.collection import ASSIGNMENT
from pytest_factorfair.prefetch import LEAST, MOST, Prefetch

CONNECTIONS = 10


class Run:
    """Notes which cases are asked ahead."""

    def __init__(self) -> None:
        self.settings = SimpleNamespace(connections=CONNECTIONS)
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
    run = Run()
    prefetch = Prefetch(run)  # type: ignore[arg-type]  # a stand-in
    items: list[Any] = [Item(number, size) for number, size in enumerate(sizes)]
    session: Any = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(), **config), items=items)
    prefetch.pytest_collection_finish(session)
    found = []
    for one, following in zip(items, [*items[1:], None], strict=True):
        run.asked.clear()
        prefetch.pytest_runtest_protocol(one, following)
        found.append(list(run.asked))
    return found


def test_window_is_filled_again_once_half_of_it_is_used_up() -> None:
    found = asked([5] * 20)
    assert found[0] == list(range(8))  # 8 cases of 5 queries are 4 times the 10 connections
    assert found[1:5] == [[], [], [], []]  # at the last of them 20 queries are ahead, twice the connections
    assert found[5] == list(range(8, 13))
    assert found[10] == list(range(13, 18))
    assert sorted(number for one in found for number in one) == list(range(20))


@pytest.mark.parametrize("sizes", [[1] * 100, [24] * 9, [3, 50, 1, 1, 1, 30, 2, 2, 2, 2, 40, 1], [100]])
def test_connections_are_busy_twice_over_until_all_is_asked(sizes: list[int]) -> None:
    done = 0
    for place, new in enumerate(asked(sizes)):
        done += len(new)
        ahead = sum(sizes[place:done])
        assert done == len(sizes) or ahead >= LEAST * CONNECTIONS
        assert not new or sum(sizes[place : done - 1]) < MOST * CONNECTIONS


def test_worker_asks_its_next_item_only() -> None:
    assert asked([5] * 4, workerinput={}) == [[0, 1], [1, 2], [2, 3], [3]]
