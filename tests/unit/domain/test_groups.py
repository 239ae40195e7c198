"""Groups that many answers share are what a user's test takes them for, and stay what they are."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from pytest_factorfair.domain import Answer, shared

ITEMS = (("gender", "Female"), ("race", "Asian"))
ANSWER = Answer("q", "answered", "", "B", shared(ITEMS), shared(()), "k")


def test_the_same_groups_are_one_mapping() -> None:
    assert shared(ITEMS) is shared((("gender", "Female"), ("race", "Asian")))
    assert shared(ITEMS) == dict(ITEMS)


CHANGES: dict[str, Callable[[Any], object]] = {
    "set": lambda groups: groups.__setitem__("gender", "Male"),
    "delete": lambda groups: groups.__delitem__("gender"),
    "update": lambda groups: groups.update(gender="Male"),
    "merge": lambda groups: groups.__ior__({"gender": "Male"}),
    "default": lambda groups: groups.setdefault("age", "old"),
    "pop": lambda groups: groups.pop("gender"),
    "pop any": lambda groups: groups.popitem(),
    "clear": lambda groups: groups.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_they_cannot_be_changed(change: str) -> None:
    with pytest.raises(TypeError, match="shared with other answers"):
        CHANGES[change](shared(ITEMS))
    assert shared(ITEMS) == dict(ITEMS)


def test_an_answer_can_be_copied_pickled_and_dumped() -> None:
    assert copy.deepcopy(ANSWER) == copy.copy(ANSWER) == pickle.loads(pickle.dumps(ANSWER)) == ANSWER  # noqa: S301  # our own
    assert json.dumps(dataclasses.asdict(ANSWER))
    assert dataclasses.asdict(ANSWER)["groups"] == dict(ITEMS)
