"""What a careful person reads in some thousand replies, and what the reader reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

import pytest
import yaml

from pytest_factorfair.domain import Direction, Finish, Option, Response
from pytest_factorfair.reading import REASONS, read
from tests.unit.reading.option_sets import OPTION_SETS

FILES = sorted(Path(__file__).parent.glob("replies*.yaml"))
SECTIONS = [section for file in FILES for section in yaml.safe_load(file.read_text("utf-8"))]


def cases() -> Iterator[object]:
    for section in SECTIONS:
        for number, (text, expected, *finish) in enumerate(section["replies"], 1):
            hint = re.sub(r"[^a-z0-9]+", "-", text.lower())[:30].strip("-")
            name = f"{section['section'].replace(' ', '-')}-{number}-{hint}"
            response = Response(text, cast("Finish", finish[0] if finish else "stop"))
            options, direction = OPTION_SETS[section["options"]], section.get("direction")
            yield pytest.param(response, options, direction, expected, id=name)


@pytest.mark.parametrize(("response", "options", "direction", "expected"), list(cases()))
def test_reply_is_read_as_a_person_reads_it(
    response: Response, options: tuple[Option, ...], direction: Direction | None, expected: str
) -> None:
    reading = read(response, options, direction)
    if expected == "no answer":
        assert reading.outcome in ("refused", "unparsed")
        assert reading.letter is None
    else:
        assert (reading.letter or reading.reason) == expected
        assert reading.outcome == outcome(expected)


def outcome(expected: str) -> str:
    if len(expected) == 1:
        return "answered"
    return "refused" if expected.startswith(("refused", "filtered")) else "unparsed"


def test_every_reason_and_every_finish_has_a_reply() -> None:
    expected = {entry[1] for section in SECTIONS for entry in section["replies"]}
    finishes = {entry[2] for section in SECTIONS for entry in section["replies"] if len(entry) > 2}
    assert {word for word in expected if len(word) > 1} == set(REASONS) - {"", "too long"} | {"no answer"}
    assert finishes == set(get_args(Finish)) - {"stop"}
