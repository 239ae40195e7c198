"""Places that processes share, with real processes at the other end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from pytest_factorfair.store.places import YIELD, Places, Shared

HOLD = """
import sys
from pathlib import Path
from pytest_factorfair.store.places import Shared
path, most, sharers, held, wants = sys.argv[1], *map(int, sys.argv[2:])
places = Shared(Path(path), most=most, sharers=sharers).places("x")
assert all(places.take() for _ in range(held))
places.want(more=bool(wants))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def another(
    path: Path, *, most: int, sharers: int = 2, held: int = 0, wants: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """A process that holds so many places, and waits for more."""
    command = [sys.executable, "-c", HOLD, str(path), *map(str, (most, sharers, held, int(wants)))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "run-1.places").touch()
    return tmp_path / "run-1.places"


Open = Callable[[int, int], Shared]


@pytest.fixture
def opened(path: Path) -> Iterator[Open]:
    """Opens the file for so many places and sharers, and closes it."""
    with ExitStack() as stack:
        yield lambda most, sharers: stack.enter_context(closing(Shared(path, most=most, sharers=sharers)))


def taken(places: Places, most: int) -> int:
    return sum(places.take() for _ in range(most + 1))


def test_what_others_leave_is_had_and_no_more(path: Path, opened: Open) -> None:
    with another(path, most=8, held=3):
        places = opened(8, 2).places("x")
        assert taken(places, 8) == 5
        assert not places.take()
        places.give()
        assert taken(places, 8) == 1


def test_an_idle_process_leaves_all_to_the_other(path: Path, opened: Open) -> None:
    with another(path, most=8):
        assert taken(opened(8, 2).places("x"), 8) == 8


def test_what_the_dead_held_is_free(path: Path, opened: Open) -> None:
    with another(path, most=3, held=3) as process:
        places = opened(3, 2).places("x")
        assert taken(places, 3) == 0
        process.kill()
        process.wait()
        assert taken(places, 3) == 3


def test_endpoints_have_places_of_their_own(opened: Open) -> None:
    file = opened(2, 2)
    assert taken(file.places("one"), 2) == taken(file.places("two"), 2) == 2


def test_beyond_its_share_a_process_gives_way_to_those_who_wait(path: Path, opened: Open) -> None:
    with another(path, most=8, wants=True):
        assert taken(opened(8, 2).places("x"), 8) == 4


def test_a_place_beyond_the_share_is_left_to_those_who_wait(path: Path, opened: Open) -> None:
    """It holds all three when another begins to wait: the first it gives back it does not take again at once."""
    file, clock = opened(3, 2), Clock()
    places = Places(file._file, "x", most=3, sharers=2, clock=clock)  # noqa: SLF001  # for a clock of its own
    assert taken(places, 3) == 3
    with another(path, most=3, wants=True):
        places.give()
        assert not places.take()
        clock.now += YIELD
        assert not places.take()  # two held, and its share is one and a half
        places.give()
        clock.now += YIELD
        places.give()  # now it is within its share
        assert places.take()


def test_more_sharers_than_places_starve_nobody(path: Path, opened: Open) -> None:
    with another(path, most=3, sharers=4, held=2, wants=True):
        places = opened(3, 4).places("x")
        assert taken(places, 3) == 1


def test_there_is_no_file_on_another_machine(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Shared(tmp_path / "run-9.places", most=1, sharers=2)
