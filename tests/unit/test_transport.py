"""Values sent between processes arrive unchanged, whatever a model wrote."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.config import settings
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.domain import Answer, CaseKey, Record, Share, Usage, Waiver
from pytest_factorfair.plugin import keys, roles
from pytest_factorfair.plugin.keys import ItemResult
from pytest_factorfair.runs import transport
from pytest_factorfair.runs.transport import WorkerInput

execnet = pytest.importorskip("execnet", reason="needs pytest-xdist")

T = TypeVar("T")
ANSWER = Answer("q1", "answered", "", "B", {"gender": "Female"}, {"race": "Asian"}, "k1")
REFUSED = dataclasses.replace(ANSWER, outcome="refused", letter=None, groups={}, repeat=3)
FACE = Answer("q2", "answered", "", None, {"gender": "Male"}, {}, "k2", confidence={"gender": 0.75})
KEY = CaseKey("sim:x", "small", "objective-tea_rate-race-highest")
CHOICES = {"name": {"Ann": Share(0, 0.25, 0.1875), "Bob": Share(1, 0.25, 0.1875)}}
USAGE = Usage(calls=2, cached=1, tokens_in=3_000_000_000, tokens_out=4, cost=None)
RESULTS = [
    ItemResult(
        Record(KEY, (ANSWER, REFUSED, FACE), ("note",), CHOICES, ("top_p",), own_detector=True), USAGE
    ),
    ItemResult(None, Usage(calls=1)),
]


def crossed(value: T) -> T:
    return transport.unpack(type(value), execnet.loads(execnet.dumps(transport.pack(value))))


@pytest.fixture
def hooks(pytestconfig: pytest.Config) -> Iterator[Any]:
    """pytest's hooks together with ours."""
    plugin = roles.ReportTransport()
    pytestconfig.pluginmanager.register(plugin)
    yield pytestconfig.hook
    pytestconfig.pluginmanager.unregister(plugin)


def report() -> pytest.TestReport:
    return pytest.TestReport("a.py::b", ("a.py", 1, "b"), {}, "passed", None, "call")


@pytest.mark.parametrize("result", RESULTS)
def test_the_result_of_an_item_is_decoded_unchanged(result: ItemResult) -> None:
    assert crossed(result) == result


@pytest.mark.parametrize("text", ["half \ud800 a pair", "Ünïcode ❤", 'quotes " and \\ and \n'])
def test_any_text_is_decoded_unchanged(text: str) -> None:
    class Text(str):
        __slots__ = ()

    back = crossed(ItemResult(Record(KEY, (), (Text(text),)), USAGE)).record
    assert back is not None
    assert back.notes == (text,)
    assert type(back.notes[0]) is str


@pytest.mark.parametrize("name", ["fact_or_fair", "fact_or_fair_t2i", "faintbench"])
def test_settings_and_checklists_are_decoded_unchanged(name: str, tmp_path: Path) -> None:
    texts = {
        "model": ["sim:x", "sim:y"],
        "model-arg": ["temperature=0"],
        "checklist": ["small.yaml"],
        "gate": ["s_e >= 0.5"],
        "max-cost": "2.5",
        "seed": "7",
    }
    typed = {name: OptionValue(value, f"--factorfair-{name}", tmp_path) for name, value in texts.items()}
    resolved = settings.resolve(typed, {}, root=tmp_path, here=tmp_path)
    resolved = dataclasses.replace(resolved, waivers=(Waiver("s_e", "known", "2030-01-01", 0.9),))
    assert (resolved.sampling.seed, resolved.ceilings.cost) == (7, 2.5)
    order = WorkerInput(resolved, (benchmarks.load(name, truth="audited", base=Path()),), "controller")
    back = crossed(order)
    assert back == order
    assert hash(back.settings.gates) == hash(resolved.gates)  # tuples are tuples again
    assert type(back.checklists[0]) is type(order.checklists[0])


@pytest.mark.parametrize("result", RESULTS)
def test_result_rides_on_a_report(hooks: Any, pytestconfig: pytest.Config, result: ItemResult) -> None:
    sent = report()
    keys.attach(sent, result)
    data = hooks.pytest_report_to_serializable(config=pytestconfig, report=sent)
    plain = json.loads(json.dumps(data))
    arrived = hooks.pytest_report_from_serializable(config=pytestconfig, data=plain)
    assert keys.detach(arrived) == result
    assert keys.detach(arrived) is None
    assert keys.detach(sent) == result  # serializing a report takes nothing off it


def test_report_without_a_result(hooks: Any, pytestconfig: pytest.Config) -> None:
    data = hooks.pytest_report_to_serializable(config=pytestconfig, report=report())
    arrived = hooks.pytest_report_from_serializable(config=pytestconfig, data=data)
    assert arrived.nodeid == "a.py::b"
    assert keys.detach(arrived) is None


def test_reports_that_pytest_does_not_serialize_are_not_changed(
    hooks: Any, pytestconfig: pytest.Config
) -> None:
    assert hooks.pytest_report_to_serializable(config=pytestconfig, report=object()) is None
    assert hooks.pytest_report_from_serializable(config=pytestconfig, data={}) is None
