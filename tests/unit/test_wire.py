"""What crosses between processes survives the crossing, whatever a model wrote."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_factorfair import checklist, settings, wire
from pytest_factorfair.domain import Answer, CaseKey, Record, Share, Usage

execnet = pytest.importorskip("execnet", reason="needs pytest-xdist")

ANSWER = Answer("q1", "answered", "", "B", {"gender": "Female"}, {"race": "Asian"}, "k1")
KEY = CaseKey("sim:x", "small", "objective-tea_rate-race-highest")


def crossed(record: Record | None, usage: Usage) -> tuple[Record | None, Usage]:
    return wire.from_wire(execnet.loads(execnet.dumps(wire.to_wire(record, usage))))


def test_a_record_comes_back_as_it_was() -> None:
    record = Record(
        KEY,
        (ANSWER, dataclasses.replace(ANSWER, outcome="refused", letter=None, groups={})),
        ("note",),
        {"name": {"Ann": Share(0, 0.25, 0.1875), "Bob": Share(1, 0.25, 0.1875)}},
    )
    usage = Usage(calls=2, cached=1, tokens_in=3_000_000_000, tokens_out=4, cost=None)
    assert crossed(record, usage) == (record, usage)


def test_an_item_without_a_record_still_tells_what_it_cost() -> None:
    assert crossed(None, Usage(calls=1)) == (None, Usage(calls=1))


def test_lone_surrogates_and_subclasses_are_cleaned() -> None:
    class Text(str):
        __slots__ = ()

    record = Record(
        KEY, (dataclasses.replace(ANSWER, outcome="error", reason="bad \ud800 byte"),), (Text("note"),)
    )
    back, _ = crossed(record, Usage())
    assert back is not None
    assert back.answers[0].reason == "bad ? byte"
    assert type(back.notes[0]) is str


@pytest.mark.parametrize("name", ["fact_or_fair", "fact_or_fair_t2i", "faintbench"])
def test_checklists_come_back_as_they_were(name: str) -> None:
    read = (checklist.load(name, truth="audited", base=Path()),)
    assert wire.checklists_from_wire(execnet.loads(execnet.dumps(wire.checklists_to_wire(read)))) == read


def test_settings_come_back_as_they_were(tmp_path: Path) -> None:
    given = {
        "factorfair_model": ["sim:x", "sim:y"],
        "factorfair_model_arg": ["temperature=0"],
        "factorfair_seed": "7",
    }
    config = SimpleNamespace(
        getoption=lambda name, default=None: given.get(name, default),
        rootpath=tmp_path,
        invocation_params=SimpleNamespace(dir=tmp_path),
    )
    chosen = settings.resolve(cast(pytest.Config, config))
    assert chosen.sampling.seed == 7
    assert wire.settings_from_wire(execnet.loads(execnet.dumps(wire.settings_to_wire(chosen)))) == chosen
