from __future__ import annotations

import pytest

from pytest_factorfair.models.redaction import fit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("two\nlines\r\n and\ttabs ", "two lines and tabs"),
        ("\x1b[31mred\x00\x85\u2028end", "[31mred end"),
        ("key sk-proj-abc123DEF456 refused", "key *** refused"),
        ("key sk-ab***yz99 refused", "key *** refused"),
        ("hf_abcdefghijkl and gsk_abcdefghijkl", "*** and ***"),
        ("AIzaSyA1234567890abcdef", "***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("http://me:hunter2@proxy:3128 is down", "http://***proxy:3128 is down"),
        ("a task-force, a risk-averse key", "a task-force, a risk-averse key"),
    ],
)
def test_fit(text: str, shown: str) -> None:
    assert fit(text) == shown


def test_given_secret_goes_wherever_it_stands() -> None:
    assert fit("xxhunter2yy hunter2", "hunter2", "") == "xx***yy ***"


def test_long_text_is_cut() -> None:
    assert fit("a" * 10_000_000) == "a" * 200 + "..."
