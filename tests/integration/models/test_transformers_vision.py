"""A real vision-language checkpoint with random weights, which gives only allowed replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from pytest_factorfair import models
from pytest_factorfair.detection import vision
from pytest_factorfair.domain import Option, Query, Request
from pytest_factorfair.errors import InputError
from pytest_factorfair.local.transformers_vision import MOST_PEOPLE, AllowedReplies
from pytest_factorfair.models.openai_people import schema
from pytest_factorfair.pictures.decode import png
from tests import tiny_checkpoint
from tests.asking import ask_all
from tests.extras import needs
from tests.project import FEW_PORTRAITS, Project

pytestmark = needs("transformers")

OPTIONS = [
    Option("", word, (word,), {attribute: word})
    for attribute, words in {"gender": ("man", "woman"), "age": ("young", "younger", "old")}.items()
    for word in words
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write_vision(tmp_path_factory.mktemp("vlm"))


def query(number: int) -> Query:
    noise = np.random.default_rng(number).integers(0, 256, (40, 48, 3), np.uint8)
    return vision.query("person", OPTIONS, png(noise))


def test_every_reply_keeps_to_the_schema(folder: Path) -> None:
    asked = [query(number) for number in range(2)]
    replies = []
    for count in (2, 1):
        model = models.build(
            f"transformers:{folder}", {"device": "cpu"}, checklists=(), custom={}, answers="people"
        )
        responses = ask_all(model, [Request.of(query) for query in asked[:count]])
        assert {response.finish for response in responses} == {"stop"}
        replies.append([response.text for response in responses])
    assert replies[1] == replies[0][:1]
    assert len(set(replies[0])) > 1  # it depends on the picture, which alone differs
    for text in replies[0]:
        jsonschema.validate(json.loads(text), schema(asked[0]))


def characters(text: str) -> list[int]:
    return list(map(ord, text))


@pytest.mark.parametrize("people", [0, 1, MOST_PEOPLE])
def test_exactly_the_allowed_replies_can_be_written(people: int) -> None:
    """A word that begins another one can be ended, and nothing follows a complete reply."""
    replies = AllowedReplies(query(0), characters)
    seen: Sequence[dict[str, str]] = [
        {"gender": "woman", "age": ("young", "younger", "unclear")[n % 3]} for n in range(people)
    ]
    text = json.dumps({"seen": seen})
    written = characters(text)
    for position, token in enumerate(written):
        assert token in replies.next(written[:position])
    assert replies.next(written) == []
    assert replies.text([*written, 0]) == text
    assert set(map(chr, replies.next(characters('{"seen": [{"gender": "woman", "age": "young')))) == {
        '"',
        "e",
    }
    assert len(written) <= replies.longest


def test_a_model_that_sees_nothing_ends_the_run(project: Project, folder: Path) -> None:
    result = project.pytester.runpytest_inprocess(
        "-n0", "--factorfair-model=sim:uniform", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-samples=images=1", f"--factorfair-detector=transformers:{folder}?device=cpu",
    )  # fmt: skip
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *its model does not see pictures: shown a red and a blue square, it answered *"]
    )


def test_checkpoints_that_cannot_see_are_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint.write(tmp_path / "llama")
    (gguf := tmp_path / "m.gguf").write_bytes(b"")
    for spec, line in (
        (f"transformers:{folder}", "does not see pictures: its config.json has no vision_config"),
        (f"transformers:{gguf}", "a GGUF file lacks the vision encoder; name a folder"),
    ):
        with pytest.raises(InputError, match=line):
            models.build(spec, {}, checklists=(), custom={}, answers="people")
