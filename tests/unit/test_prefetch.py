from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from pytest_factorfair.plugin.collection import ASSIGNMENT
from pytest_factorfair.plugin.prefetch import Prefetch
from pytest_factorfair.runs.submissions import LEAST, MOST
from tests import forkserver
from tests.project import WITHOUT_OTHERS

CONNECTIONS = 10

# Ours is under test, and that for unraisable exceptions collects garbage for half a second.
PLUGINS = (*WITHOUT_OTHERS, "-p", "no:factorfair", "-p", "no:unraisableexception")

CASES = """
import pytest
from types import SimpleNamespace

@pytest.fixture
def factorfair_model(): pass

@pytest.fixture
def factorfair_ask(factorfair_model): pass

CASES = [
    SimpleNamespace(number=number, model="m", case=SimpleNamespace(samples=size))
    for number, size in enumerate({sizes})
]

@pytest.mark.parametrize({name!r}, CASES)
def test_case({name}, factorfair_ask): pass
"""
"""Items that each ask a case of this many queries."""

OVERRIDE = """
class TestOwn:
    @pytest.fixture
    def factorfair_model(self): pass

    @pytest.mark.parametrize({name!r}, CASES)
    def test_case(self, {name}, factorfair_ask): pass
"""


class Execution:
    """An execution that records which cases are asked in advance."""

    def __init__(self, parallel: int | None) -> None:
        self.connections = SimpleNamespace(per_endpoint=CONNECTIONS)
        self.run = SimpleNamespace(models={"m": SimpleNamespace(parallel=parallel)})
        self.submissions = self
        self.asked: list[int] = []

    def prefetch(self, assignment: Any) -> None:
        self.asked.append(assignment.number)


Asked: TypeAlias = Callable[..., list[list[int]]]


@pytest.fixture
def asked(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The cases that are asked in advance at each item, for cases of these sizes."""
    monkeypatch.setattr("importlib.metadata.distributions", forkserver.distributions)

    def asked_(
        sizes: list[int], extra: str = "", *, parallel: int | None = None, **config: object
    ) -> list[list[int]]:
        execution = Execution(parallel)
        prefetch = Prefetch(execution)  # type: ignore[arg-type]  # a stand-in
        source = (CASES + extra).format(name=ASSIGNMENT, sizes=sizes)
        items = pytester.genitems([pytester.getmodulecol(source, PLUGINS)])
        session: Any = SimpleNamespace(
            config=SimpleNamespace(option=SimpleNamespace(), **config), items=items
        )
        prefetch.pytest_collection_finish(session)
        asked_ahead = []
        for item, following in zip(items, [*items[1:], None], strict=True):
            execution.asked.clear()
            prefetch.pytest_runtest_protocol(item, following)
            asked_ahead.append(list(execution.asked))
        return asked_ahead

    return asked_


def test_window_is_filled_again_once_half_of_it_is_used_up(asked: Asked) -> None:
    asked_ahead = asked([5] * 40)
    assert asked_ahead[0] == list(range(16))  # 16 cases of 5 queries are 8 times the 10 connections
    assert asked_ahead[1:9] == [[]] * 8  # at the last of them 40 queries are ahead, 4 times the connections
    assert asked_ahead[9] == list(range(16, 25))
    assert asked_ahead[18] == list(range(25, 34))
    assert sorted(number for numbers in asked_ahead for number in numbers) == list(range(40))


@pytest.mark.parametrize("sizes", [[1] * 100, [24] * 9, [3, 50, 1, 1, 1, 30, 2, 2, 2, 2, 40, 1], [100]])
def test_connections_are_busy_until_all_is_asked(asked: Asked, sizes: list[int]) -> None:
    done = 0
    for position, new in enumerate(asked(sizes)):
        done += len(new)
        ahead = sum(sizes[position:done])
        assert done == len(sizes) or ahead >= LEAST * CONNECTIONS
        assert len(new) < 2 or sum(sizes[position : done - 1]) < MOST * CONNECTIONS


@pytest.mark.parametrize(("parallel", "ahead"), [(1, 2), (2, 4), (10, 16), (50, 16)])
def test_window_is_as_wide_as_the_model(asked: Asked, parallel: int, ahead: int) -> None:
    """The window is 8 queries per call in flight: the model's maximum or all connections, whichever is less."""
    assert asked([5] * 40, parallel=parallel)[0] == list(range(ahead))


def test_next_item_is_ahead_however_large_the_one_that_runs_is(asked: Asked) -> None:
    assert asked([1000] * 4) == [[0, 1], [2], [3], []]


def test_worker_asks_its_next_item_only(asked: Asked) -> None:
    assert asked([5] * 4, workerinput={}) == [[0, 1], [1, 2], [2, 3], [3]]


def test_case_whose_model_is_overridden_is_not_asked_ahead(asked: Asked) -> None:
    """Cases whose model is overridden are not asked in advance: the override may ask something else."""
    assert asked([5, 5], OVERRIDE) == [[0, 1], [], [], []]
    assert asked([5, 5], OVERRIDE, workerinput={}) == [[0, 1], [1], [], []]
