"""Some thousand replies, compared with a person's reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast, get_args

import pytest
import yaml

from pytest_factorfair.domain import Finish, Response
from pytest_factorfair.reading import REASONS, read
from tests.unit.reading.option_sets import OPTION_SETS

FILES = sorted(Path(__file__).parent.glob("replies*.yaml"))
SECTIONS = [section for file in FILES for section in yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section["section"].replace(" ", "-"))
def test_replies_are_read_as_a_person_reads_them(section: dict[str, Any]) -> None:
    options, direction = OPTION_SETS[section["options"]], section.get("direction")
    wrong = []
    for text, expected, *finish in section["replies"]:
        reading = read(Response(text, cast("Finish", finish[0] if finish else "stop")), options, direction)
        if expected == "no answer":
            right = reading.outcome in ("refused", "unparsed") and reading.letter is None
        else:
            right = (reading.letter or reading.reason, reading.outcome) == (expected, outcome(expected))
        if not right:
            wrong.append((text, expected, reading))
    assert wrong == []


def outcome(expected: str) -> str:
    if len(expected) == 1:
        return "answered"
    return "refused" if expected.startswith(("refused", "filtered")) else "unparsed"


def test_half_a_surrogate_pair() -> None:  # the parser of YAML in C refuses it
    options = OPTION_SETS["race"]
    assert read(Response('\ud800{"answer": "B"}'), options).letter == "B"
    assert read(Response("\ud83d"), options).reason == "empty"


def test_every_reason_and_every_finish_has_a_reply() -> None:
    expected = {entry[1] for section in SECTIONS for entry in section["replies"]}
    finishes = {entry[2] for section in SECTIONS for entry in section["replies"] if len(entry) > 2}
    assert {word for word in expected if len(word) > 1} == set(REASONS) - {"", "too long"} | {"no answer"}
    assert finishes == set(get_args(Finish)) - {"stop"}
