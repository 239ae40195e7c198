from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, RejectedRequestError
from pytest_factorfair.models.replay import build
from tests.asking import ask_all, spec


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def written(file: Path, *entries: object) -> Path:
    file.write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
    return file


def complaint(file: Path, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        build(spec(f"replay:{file}", arguments))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_answers_by_prompt_and_repeat(file: Path) -> None:
    written(
        file,
        {"prompt": "Who?\u2028", "text": "A"},
        {
            "prompt": "Who?\u2028",
            "text": "B",
            "repeat": 1,
            "finish": "length",
            "tokens_in": 3,
            "tokens_out": 0,
        },
        {"prompt": "Why?", "text": ""},
    )
    model = build(spec(f"replay:{file}"))
    assert ask_all(model, [Request("Who?\u2028", 0), Request("Who?\u2028", 1, seed=9), Request("Why?")]) == [
        Response("A", cost=0.0),
        Response("B", "length", tokens_in=3, tokens_out=0, cost=0.0),
        Response("", cost=0.0),
    ]


def test_line_ends_bom_and_lone_surrogates(file: Path) -> None:
    file.write_bytes(
        b'\xef\xbb\xbf{"prompt": "a", "text": "x\\ud83d"}\r\n\r\n  \n{"prompt": "b", "text": "y"}\r\n'
    )
    texts = [
        response.text for response in ask_all(build(spec(f"replay:{file}")), [Request("a"), Request("b")])
    ]
    assert texts == ["x?", "y"]


def test_other_keys_and_line_ends_in_prompts_do_not_matter(file: Path) -> None:
    """Files that other tools or systems have written."""
    written(file, {"prompt": "Who?\r\nA. he\rB. she", "text": "A", "model": "gpt-4o", "custom_id": 7})
    model = build(spec(f"replay:{file}"))
    asked = [Request("Who?\nA. he\nB. she"), Request("Who?\r\nA. he\r\nB. she")]
    assert [response.text for response in ask_all(model, asked)] == ["A", "A"]


@pytest.mark.parametrize("request_", [Request("Who"), Request("Who?", 1)])
def test_prompt_that_is_not_there(file: Path, request_: Request) -> None:
    model = build(spec(f"replay:{written(file, {'prompt': 'Who?', 'text': 'A'})}"))
    with pytest.raises(RejectedRequestError) as caught:
        ask_all(model, [request_])
    assert str(caught.value) == f"replay: prompt and repeat {request_.repeat} are not in {file}"


def test_identity_is_the_content(file: Path, tmp_path: Path) -> None:
    model = build(spec(f"replay:{written(file, {'prompt': 'a', 'text': 'b'})}"))
    digest = hashlib.sha256(b'{"prompt": "a", "text": "b"}').hexdigest()
    assert model.identity == {"provider": "replay", "sha256": digest}
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    assert build(spec(f"replay:{copy}")).identity == model.identity


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ("[1]", '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ("[" * 100_000, '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ('{"prompt": "b"}', "2: 'text' is missing"),
        ('{"text": "b"}', "2: 'prompt' is missing"),
        ('{"prompt": "b", "text": null}', "2: 'text' must be a text, not None"),
        ('{"prompt": ["b"], "text": ""}', "2: 'prompt' must be a text, not ['b']"),
        (
            '{"prompt": "b", "text": "", "repeat": -1}',
            "2: 'repeat' must be a whole number of at least 0, not -1",
        ),
        (
            '{"prompt": "b", "text": "", "repeat": true}',
            "2: 'repeat' must be a whole number of at least 0, not True",
        ),
        (
            '{"prompt": "b", "text": "", "finish": ["stop"]}',
            "2: 'finish' must be one of stop, length, filtered, refusal, not ['stop']",
        ),
        ('{"prompt": "b", "txt": ""}', "2: 'text' is missing"),
        ('{"prompt": "a", "text": "other"}', "2: an earlier line has this prompt and repeat 0 too"),
    ],
)
def test_wrong_line(file: Path, line: str, message: str) -> None:
    file.write_text('{"prompt": "a", "text": "A"}\n' + line, encoding="utf-8")
    assert complaint(file) == f"{file}:{message}"


def test_wrong_file(file: Path, tmp_path: Path) -> None:
    assert complaint(file) == f"model 'replay:{file}': '{file}' cannot be read: No such file or directory"
    assert "Is a directory" in complaint(tmp_path)
    file.write_bytes(b"\n\n")
    assert (
        complaint(file)
        == f"{file}: it contains no answers; write one JSON object with prompt and text per line"
    )
    file.write_bytes(b"{\xff")
    assert complaint(file) == f"{file}: byte 1 is not UTF-8"


def test_takes_no_arguments(file: Path) -> None:
    assert "argument 'temperature' is unknown" in complaint(
        written(file, {"prompt": "a", "text": ""}), temperature="0"
    )
