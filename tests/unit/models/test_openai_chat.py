from __future__ import annotations

import pytest

from pytest_factorfair.models.openai_chat import response_of
from pytest_factorfair.models.openai_errors import MalformedReplyError, parsed


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        (b"\xef\xbb\xbf{}", {}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        ('{"a": "é"}'.encode("utf-16"), {"a": "é"}),
    ],
    ids=["plain", "twice", "large", "byte order mark", "half a pair", "UTF-16"],
)
def test_a_json_object_is_parsed(body: bytes, value: object) -> None:
    assert parsed(body) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the reply of 0 bytes is cut off or not JSON"),
        (b'{"a": "x', "the reply of 8 bytes is cut off or not JSON"),
        (b'{"a": "\xff"}', "the reply of 10 bytes is cut off or not JSON"),
        (b"[" * 100_000, "the reply of 100000 bytes is cut off or not JSON"),
        (b" <html>", "the reply of 7 bytes is HTML, not JSON: <html>"),
        (b"<html><title>Sign in</title>...", "the reply of 31 bytes is HTML, not JSON: Sign in"),
        (b"Model is loading", "the reply of 16 bytes is not JSON: Model is loading"),
        (b'["busy"]', r"the reply is not a JSON object: \['busy'\]"),
    ],
    ids=["empty", "cut", "no UTF-8", "deep", "html", "title", "text", "list"],
)
def test_a_reply_that_is_no_json_object_is_malformed(body: bytes, message: str) -> None:
    with pytest.raises(MalformedReplyError, match=f"^{message}$"):
        parsed(body)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    reply = parsed(b'{"choices": [{"message": {"content": "B \\ud83d"}}], "model": "m\\udc00"}')
    response = response_of(reply, model="other")
    assert (response.text, response.model) == ("B ?", "m?")
