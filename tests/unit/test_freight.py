"""What rides on a report leaves its process as plain types, and arrives as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_factorfair import freight
from pytest_factorfair.domain import Answer, CaseKey, Record, Usage, shared

ANSWER = Answer("q1", "answered", "", "B", shared((("gender", "Female"),)), shared(()), "k1")
RECORD = Record(CaseKey("sim:x", "small", "a-case"), (ANSWER,), ("note",))


@pytest.fixture
def crossing(pytestconfig: pytest.Config) -> Iterator[pytest.Config]:
    """pytest's own hooks, with ours around them."""
    plugin = freight.Crossing()
    pytestconfig.pluginmanager.register(plugin)
    yield pytestconfig
    pytestconfig.pluginmanager.unregister(plugin)


def report() -> pytest.TestReport:
    return pytest.TestReport("a.py::b", ("a.py", 1, "b"), {}, "passed", None, "call")


def crossed(config: pytest.Config, sent: object) -> Any:
    data = config.hook.pytest_report_to_serializable(config=config, report=sent)
    plain = json.loads(json.dumps(data))
    return config.hook.pytest_report_from_serializable(config=config, data=plain)


@pytest.mark.parametrize("yielded", [(RECORD, Usage(calls=3, cost=None)), (None, Usage(cached=1))])
def test_what_an_item_yielded_arrives(crossing: pytest.Config, yielded: freight.Freight) -> None:
    sent = report()
    freight.load(sent, yielded)
    arrived = crossed(crossing, sent)
    assert freight.unload(arrived) == yielded
    assert freight.unload(arrived) is None
    assert freight.unload(sent) == yielded  # who logs a report of this process takes nothing off it


def test_report_that_carries_nothing(crossing: pytest.Config) -> None:
    arrived = crossed(crossing, report())
    assert arrived.nodeid == "a.py::b"
    assert freight.unload(arrived) is None


def test_what_pytest_does_not_serialise(crossing: pytest.Config) -> None:
    assert crossing.hook.pytest_report_to_serializable(config=crossing, report=object()) is None
    assert crossing.hook.pytest_report_from_serializable(config=crossing, data={}) is None
