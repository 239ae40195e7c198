"""Outages of a store: one time limit for all callers."""

from __future__ import annotations

import errno
import os

import pytest

from pytest_factorfair.store.durable.outage import Outage


class Disk:
    """A disk that fails a number of times before it works; without a number, always."""

    def __init__(self, failures: int | None = None) -> None:
        self.attempts = 0
        self._failures = failures

    def __call__(self) -> str:
        self.attempts += 1
        if self._failures is None or self.attempts <= self._failures:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return "done"


def test_an_outage_is_waited_for() -> None:
    outage, disk = Outage(patience=60), Disk(failures=2)
    assert outage.with_retries(disk, writes=True) == "done"
    assert disk.attempts == 3
    assert not outage.ongoing
    assert not outage.given_up


def test_once_the_patience_is_used_up_nobody_waits_again() -> None:
    outage, disk, healthy = Outage(patience=0), Disk(), Disk(failures=0)
    with pytest.raises(OSError, match="No space left"):
        outage.with_retries(disk, writes=True)
    assert outage.given_up
    with pytest.raises(OSError, match="No space left"):
        outage.with_retries(healthy, writes=True)
    assert (disk.attempts, healthy.attempts) == (1, 0)


def test_what_cannot_be_written_may_still_be_read_until_that_fails() -> None:
    outage, broken, fine = Outage(patience=0), Disk(), Disk(failures=0)
    with pytest.raises(OSError, match="No space left"):
        outage.with_retries(broken, writes=True)
    assert outage.with_retries(fine, writes=False) == "done"
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            outage.with_retries(broken, writes=False)
    assert broken.attempts == 2


def test_a_permanent_error_is_raised_at_once() -> None:
    outage = Outage(patience=60)

    def wrong() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        outage.with_retries(wrong, writes=True)
    assert not outage.ongoing


def test_a_slow_attempt_counts_as_an_outage_while_it_lasts() -> None:
    outage = Outage()
    assert outage.with_retries(lambda: outage.ongoing, writes=True, slow=-1.0)
    assert not outage.with_retries(lambda: outage.ongoing, writes=True, slow=60.0)
    assert not outage.ongoing


def test_a_successful_read_does_not_end_an_outage_of_writes() -> None:
    outage, disk = Outage(patience=60), Disk(failures=2)

    def write() -> str:
        if disk.attempts:
            assert outage.ongoing
            outage.with_retries(lambda: None, writes=False)
            assert outage.ongoing
        return disk()

    assert outage.with_retries(write, writes=True) == "done"
    assert not outage.ongoing
