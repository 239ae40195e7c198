from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import BudgetError, StoreError
from pytest_factorfair.store import Ceilings, RunFile
from pytest_factorfair.store.run_file import Entry, Grant

TAKE_ALL = """
import sys
from pathlib import Path
from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.store import RunFile
file, taken = RunFile.open(Path(sys.argv[1])), 0
try:
    while True:
        file.take(estimate=0.0, now=0.0)
        taken += 1
except BudgetError:
    print(taken)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run-1.sqlite"


def made(path: Path, now: float = 0.0, **most: float) -> RunFile:
    RunFile.make(path, Ceilings(**most), now=now).close()  # type: ignore[arg-type]  # the test knows them
    return RunFile.open(path)


def refusal(file: RunFile, *, estimate: float | None = None, now: float = 0.0) -> str:
    with pytest.raises(BudgetError) as caught:
        file.take(estimate=estimate, now=now)
    assert file.ended == str(caught.value)
    return str(caught.value)


def test_four_processes_take_exactly_what_there_is(path: Path) -> None:
    made(path, calls=3000)
    command = [sys.executable, "-c", TAKE_ALL, str(path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert sum(int(process.communicate(timeout=60)[0]) for process in processes) == 3000


def test_no_limit_grants_everything_at_once(path: Path) -> None:
    file = made(path)
    assert {granted(file, estimate=5.0, now=1e9).wait for _ in range(100)} == {0.0}
    assert file.ended is None


def test_calls_run_out(path: Path) -> None:
    file = made(path, calls=1)
    file.take(estimate=0.0, now=0.0)
    assert refusal(file) == "the budget of 1 call is used up"
    assert refusal(file, now=9.0) == "the budget of 1 call is used up"


def test_minutes_count_from_the_making(path: Path) -> None:
    file = made(path, now=1000.0, minutes=2)
    file.take(estimate=0.0, now=1119.9)
    assert refusal(file, now=1120.0) == "the budget of 2 minutes is used up"


def test_pace_is_kept_without_saving_up(path: Path) -> None:
    """120 a minute: one every half second, and a quiet time earns nothing."""
    file = made(path, rpm=120)
    assert [granted(file, now=now).wait for now in (10.0, 10.0, 10.2)] == pytest.approx([0, 0.5, 0.8])
    assert [granted(file, now=100.0).wait for _ in range(3)] == pytest.approx([0, 0.5, 1.0])


def test_no_call_is_put_off_beyond_the_end(path: Path) -> None:
    file = made(path, minutes=1, rpm=1)
    file.take(estimate=0.0, now=0.0)
    assert refusal(file) == "the budget of 1 minute is used up"


def settle(file: RunFile, grant: Grant, cost: float) -> None:
    file.settle(Entry.settled(grant, cost), dearest=cost)


def granted(file: RunFile, *, estimate: float | None = None, now: float = 0.0) -> Grant:
    grant = file.take(estimate=estimate, now=now)
    assert grant is not None
    return grant


def test_cost_is_set_aside_and_then_replaced(path: Path) -> None:
    file = made(path, cost=1.0)
    first, second = (granted(file, estimate=0.4) for _ in range(2))
    assert first.reserved == pytest.approx(0.4)
    assert file.take(estimate=0.4, now=0.0) is None  # it depends on what these two will have cost
    settle(file, first, 0.1)
    settle(file, second, 0.1)
    for _ in range(2):  # 0.2 spent, 0.4 twice set aside
        granted(file, estimate=0.4)
    assert file.take(estimate=0.4, now=0.0) is None


def test_what_is_left_and_does_not_suffice_is_told(path: Path) -> None:
    file = made(path, cost=1.0)
    settle(file, granted(file, estimate=0.5), 0.7)
    told = "the budget of $1.00 is used up but for $0.3000, and a call may cost $0.7000"
    assert refusal(file, estimate=0.4) == told


def test_dear_answers_raise_the_estimate(path: Path) -> None:
    file = made(path, cost=1.0)
    settle(file, granted(file), 0.5)
    second = granted(file)
    assert second.reserved == pytest.approx(0.5)
    assert file.take(estimate=0.0, now=0.0) is None
    settle(file, second, 0.5)
    assert refusal(file) == "the budget of $1.00 is used up"


def test_the_first_call_of_unknown_price_goes_alone(path: Path) -> None:
    file = made(path, cost=1.0)
    first = granted(file)
    assert file.take(estimate=None, now=0.0) is None
    settle(file, first, 0.0)
    assert all(granted(file).reserved == 0 for _ in range(3))  # they are free


def test_a_call_that_cost_nothing_gives_back_what_was_set_aside(path: Path) -> None:
    file = made(path, cost=0.5)
    for _ in range(10):
        file.settle(Entry.settled(granted(file, estimate=0.4), 0.0))
    assert file.ended is None
    assert file.usage == Usage(calls=10, cost=0.0)


def test_a_failed_call_that_may_have_been_billed_is_taken_as_spent(path: Path) -> None:
    file = made(path, cost=1.0)
    for _ in range(2):
        grant = granted(file, estimate=0.4)
        file.settle(Entry.settled(grant, grant.reserved))
    assert refusal(file, estimate=0.4).startswith("the budget of $1.00 is used up but for $0.2000")


def test_the_account_of_all_processes(path: Path) -> None:
    """Calls under way count at what is set aside for them."""
    first, second = made(path), RunFile.open(path)
    first.send(Entry.sent(grant := Grant(reserved=0.25)))
    second.send(Entry.sent(Grant(reserved=0.5)))
    first.settle(Entry.settled(grant, 0.125, 70, 3))
    assert first.usage == second.usage == Usage(2, 0, 70, 3, 0.625)


def test_unknown_until_the_price_is_known(path: Path) -> None:
    file = made(path)
    grant = Grant(reserved=None)
    file.send(Entry.sent(grant))
    assert file.usage == Usage(calls=1, cost=None)
    file.settle(Entry.settled(grant, 0.5))
    assert file.usage == Usage(calls=1, cost=0.5)
    file.send(Entry.sent(grant))
    file.settle(Entry.settled(grant, None))
    assert file.usage == Usage(calls=2, cost=None)


def test_a_run_that_has_ended_sends_nothing_and_counts_nothing(path: Path) -> None:
    file = made(path)
    file.end("the run was interrupted")
    with pytest.raises(BudgetError, match="the run was interrupted"):
        file.send(Entry.sent(Grant()))
    assert refusal(file) == "the run was interrupted"
    assert file.usage == Usage()


def test_what_the_dead_had_under_way_is_taken_as_spent(path: Path) -> None:
    file = made(path, cost=1.0)
    take = "file.take(estimate=0.6, now=0.0)"
    code = f"import sys; from pathlib import Path; from pytest_factorfair.store import RunFile\nfile = RunFile.open(Path(sys.argv[1])); {take}"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert file.take(estimate=0.6, now=0.0) is None  # now they are buried
    assert refusal(file, estimate=0.6).startswith("the budget of $1.00 is used up but for $0.4000")


def test_the_first_reason_stays(path: Path) -> None:
    file = made(path, calls=5)
    file.end("one")
    file.end("two")
    assert refusal(file) == "one"


def test_file_of_another_machine(path: Path) -> None:
    with pytest.raises(StoreError, match=r"run-1\.sqlite: no such file: .* one machine only"):
        RunFile.open(path)


def test_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the account of the run cannot be kept there: unable to open"):
        RunFile.make(tmp_path / "none" / "run.sqlite", Ceilings(calls=1), now=0.0)


def test_damaged_file(path: Path) -> None:
    file = made(path, calls=1)
    file._connection.execute("DROP TABLE run")  # noqa: SLF001  # no other way to break an open file
    with pytest.raises(StoreError, match="cannot be kept: no such table"):
        file.take(estimate=0.0, now=0.0)
