"""Models of the stub server, as every provider's tests make them, and how they say no."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_factorfair.domain import AnswerMode, Checklist
from pytest_factorfair.errors import ModelError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec
from tests.asking import ask, spec
from tests.extras import needs
from tests.servers import StubServer
from tests.unit.models.sample import SAMPLE

KEY = "sk-proj-Zm9vYmFyLTEyMzQ1Njc4"
"""The key in the environment: whatever a model says, this must not be in it."""

ASIAN = '{"answer": "A"}'
UNSEEDED = "unseeded: no seed was sent to the service, so its pictures cannot be reproduced"

LITELLM = [
    needs("litellm"),
    pytest.mark.usefixtures("litellm_offline"),
    # pydantic says it of litellm's types when they are first used, in whichever test that is.
    pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning"),
]
"""The marks of a module whose models go through litellm."""

SEARCHED: dict[str, Any] = {
    "message": {
        "annotations": [
            {
                "type": "url_citation",
                "url_citation": {"url": url, "title": "Health", "start_index": 0, "end_index": 1},
            }
            for url in ("https://cdc.gov/a", "https://census.gov/b", "https://cdc.gov/a")
        ]
    },
    "reply": {
        "citations": ["https://cdc.gov/a", "https://kff.org/c"],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 40,
            "total_tokens": 49,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
    },
}
"""The script of a model that reasons and cites the web, as OpenAI's and Perplexity's do."""

CITED = ("https://cdc.gov/a", "https://census.gov/b", "https://kff.org/c")

MakeModel = Callable[..., Model]
"""From a spec as typed and its arguments, ``__`` for a dot, to a model of the stub."""


IMAGES = (replace(SAMPLE, modality="image"),)
"""The checklists of a run that asks for pictures."""


def maker(
    build: Callable[[ModelSpec], Model],
    stub: StubServer,
    text: str,
    checklists: tuple[Checklist, ...] = (),
    answers: AnswerMode = "text",
) -> MakeModel:
    """A function that builds models of a provider, by default of the spec ``text``."""

    def make(text: str = text, **arguments: str) -> Model:
        named = {name.replace("__", "."): value for name, value in arguments.items()}
        model_spec = spec(text, {"base_url": stub.base_url} | named)
        return build(replace(model_spec, checklists=checklists, answers=answers))

    return make


def refused(model: Model) -> ModelError:
    """The error of a model that cannot answer: one line, without the key."""
    with pytest.raises(ModelError) as caught:
        ask(model, "a person")
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    return caught.value


def error_body(message: str, **fields: object) -> str:
    """What an OpenAI-compatible service sends along with a 4xx."""
    return json.dumps({"error": {"message": message, **fields}})
