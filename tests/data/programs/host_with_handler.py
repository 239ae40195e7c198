"""A conftest.py whose host handles SIGTERM itself."""

import signal
from pathlib import Path


def handle(number, frame):
    Path("host.txt").write_text("called")


signal.signal(signal.SIGTERM, handle)


def state():
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def pytest_sessionstart(session):
    session.before = state()


def pytest_runtest_setup(item):
    assert item.session.before != state()


def pytest_unconfigure(config):
    if state() == before:
        Path("after.txt").write_text("given back")


def pytest_sessionfinish(session):
    global before
    before = session.before
