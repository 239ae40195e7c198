from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.collection import ASSIGNMENT
from pytest_factorfair.prefetch import LEAST, MOST, Prefetch

CONNECTIONS = 10


class Run:
    """Notes which cases are asked ahead, and which of them are kept for an item to come."""

    def __init__(self, workers: int) -> None:
        self.settings = SimpleNamespace(connections=CONNECTIONS * workers, workers=workers)
        self.asked: list[int] = []
        self.kept: set[int] = set()

    def prefetch(self, assignment: Any) -> None:
        if assignment.number not in self.kept:
            self.asked.append(assignment.number)
            self.kept.add(assignment.number)

    def forget(self, assignment: Any) -> None:
        self.kept.discard(assignment.number)


class Item:
    """What pytest tells of an item that asks a case of so many queries."""

    def __init__(self, number: int, samples: int) -> None:
        self.number = number
        assignment = SimpleNamespace(number=number, case=SimpleNamespace(samples=samples))
        self.callspec = SimpleNamespace(params={ASSIGNMENT: assignment})
        self.fixturenames = ["factorfair_ask"]
        self._fixtureinfo = SimpleNamespace(name2fixturedefs={"factorfair_model": (object(),)})

    def iter_markers(self, _: str) -> tuple[()]:
        return ()


def asked(
    sizes: list[int], order: list[int] | None = None, *, workers: int = 1
) -> tuple[list[list[int]], set[int]]:
    """What is asked ahead at each item, of cases with so many queries, and what is left at the end."""
    run = Run(workers)
    prefetch = Prefetch(run)  # type: ignore[arg-type]  # a stand-in
    items: list[Any] = [Item(number, size) for number, size in enumerate(sizes)]
    session: Any = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace()), items=items)
    prefetch.pytest_collection_finish(session)
    ran = [items[place] for place in order or range(len(items))]
    found = []
    for one, following in zip(ran, [*ran[1:], None], strict=True):
        run.asked.clear()
        prefetch.pytest_runtest_protocol(one, following)
        found.append(list(run.asked))
        assert one.number in run.kept  # as its test will ask for it now
        run.forget(one.callspec.params[ASSIGNMENT])
    return found, run.kept


@pytest.mark.parametrize("workers", [1, 3])
def test_window_is_filled_again_once_half_of_it_is_used_up(workers: int) -> None:
    found, left = asked([5] * 40, workers=workers)
    assert found[0] == list(range(16))  # 16 cases of 5 queries are 8 times the 10 connections of a process
    assert found[1:9] == [[]] * 8  # at the last of them 40 queries are ahead, 4 times the connections
    assert found[9] == list(range(16, 25))
    assert found[18] == list(range(25, 34))
    assert sorted(number for one in found for number in one) == list(range(40))
    assert not left


@pytest.mark.parametrize("sizes", [[1] * 100, [24] * 9, [3, 50, 1, 1, 1, 30, 2, 2, 2, 2, 40, 1], [100]])
def test_connections_are_busy_until_all_is_asked(sizes: list[int]) -> None:
    done = 0
    for place, new in enumerate(asked(sizes)[0]):
        done += len(new)
        ahead = sum(sizes[place:done])
        assert done == len(sizes) or ahead >= LEAST * CONNECTIONS
        assert len(new) < 2 or sum(sizes[place : done - 1]) < MOST * CONNECTIONS


def test_worker_asks_its_next_item_where_it_is_no_neighbour() -> None:
    found, left = asked([5] * 9, [0, 2, 4, 7, 1], workers=2)
    assert found == [[0, 2], [4], [7], [1], []]
    assert not left


def test_worker_gives_up_the_window_of_a_run_that_has_ended() -> None:
    found, left = asked([40] * 40, [0, 1, 20, 21, 22, 10, 11], workers=2)
    assert found == [[0, 1], [20], [21], [22], [10], [11], []]
    assert not left


def test_window_beyond_the_end_of_a_run_is_given_up() -> None:
    found, left = asked([10] * 60, [0, 1, 2, 30, 31, 32], workers=2)
    assert found == [list(range(8)), [], [30], list(range(31, 38)), [], []]
    assert left == set(range(33, 38))  # those of the last run; the first one's are gone


def test_next_item_is_ahead_however_large_the_one_that_runs_is() -> None:
    assert asked([1000] * 4)[0] == [[0, 1], [2], [3], []]
