from __future__ import annotations

import pytest

from pytest_factorfair.redaction import fit, redacted, shown_url


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
        ("http://me:hunter2@proxy:3128 is down", "http://***@proxy:3128 is down"),
        ("a task-force, a risk-averse key", "a task-force, a risk-averse key"),
    ],
)
def test_fit(text: str, shown: str) -> None:
    assert fit(text) == shown


def test_given_secret_goes_wherever_it_stands() -> None:
    assert fit("xxhunter2yy hunter2", "hunter2", "") == "xx***yy ***"


def test_long_text_is_cut() -> None:
    assert fit("a" * 10_000_000) == "a" * 200 + "..."


S = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"http://h:8000/v1?api_key={S}", "http://h:8000/v1?***"),
        (f"http://h/v1#{S}", "http://h/v1#***"),
        (f"localhost:8000/v1?{S}", "localhost:8000/v1?***"),
        (f"http://u:{S}@h/v1", "http://***@h/v1"),
        (f"http:/u:{S}@h/v1", "http:/***@h/v1"),
        (f"u:{S}@h/v1", "u:***@h/v1"),
        (f"http://{S}@h", "http://***@h"),
        (f"postgresql://user:{S}@/db", "postgresql://***@/db"),
        (f"postgresql:/user:{S}@host", "postgresql:/***@host"),
        (f"postgresql:user:{S}@host", "postgresql:***@host"),
        (f"postgresql:///user:{S}@host", "postgresql:///***@host"),
        (f"postgresql://user:p@/:#?{S}@host/db", "postgresql://***@host/db"),
        (f"postgresql://user:my {S} '{S}@host/db", "postgresql://***@host/db"),
        (f"postgresql://host/db?password={S}&user=u", "postgresql://host/db?***"),
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("sqlite:////home/me@work/responses.sqlite", "sqlite:////home/me@work/responses.sqlite"),
    ],
)
def test_shown_url(url: str, shown: str) -> None:
    assert shown_url(url) == shown
    if S in url and "://" in url and " " not in url:
        assert S not in redacted(f"the store '{url}': not good; give 'sqlite:///x', or (see '{url}').")


@pytest.mark.parametrize(
    "text",
    [
        "model 'sim:stereotyped?strengh=0.3': did you mean 'strength'?",
        "model 'litellm:vertex_ai/claude@20240620': no key: set the environment variable X",
        "detector 'fairface:x.onnx?faces=y.onnx': there is no file",
        "/home/me@work/test.py:12: expected a list, got 'a': b",
    ],
)
def test_ordinary_messages_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text
