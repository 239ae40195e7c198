"""All reasons why a key has no response."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.domain import Query, Response
from pytest_factorfair.store import Store, keys
from pytest_factorfair.store.misses import NEW_MODEL, NEW_PROMPT, NEW_REPEAT, NEW_SEED, CallIndex
from tests import keeping

IDENTITY: dict[str, Any] = {
    "model": "m",
    "base_url": "http://a/v1",
    "parameters": {"temperature": 0, "max_tokens": 9},
}
QUERY = Query("q", "Who?", (), 0, 7, {})
WAIT = 30


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/responses.sqlite") as store:
        yield store


def put(
    store: Store, response: Response, *, identity: dict[str, Any] = IDENTITY, query: Query = QUERY
) -> None:
    (name,) = keys(identity, [query])
    keeping.put(
        store,
        name,
        response,
        model="m",
        prompt=query.prompt,
        repeat=query.repeat,
        seed=query.seed,
        identity=identity,
    ).result(WAIT)


def reason(store: Store, *, identity: dict[str, Any] = IDENTITY, query: Query = QUERY) -> str | None:
    return CallIndex.of(store, "m").reason(identity, query)


def test_a_stored_answer_is_reused(store: Store) -> None:
    assert reason(store) == NEW_MODEL
    put(store, Response("A"))
    assert reason(store) is None
    assert CallIndex.of(store, "another").calls == {}


@pytest.mark.parametrize(("changed", "message"), [
    ({"model": "n"}, 'model is "n", stored with "m"'),
    ({"base_url": "http://b/v1"}, 'base_url is "http://b/v1", stored with "http://a/v1"'),
    ({"parameters": {"temperature": 0.5, "max_tokens": 9}}, "parameters.temperature is 0.5, stored with 0"),
    ({"parameters": {"temperature": 0, "max_tokens": 9, "top_p": 1}}, "parameters.top_p is 1, stored with not given"),
    ({"model": "n", "parameters": {"temperature": 1, "max_tokens": 9}},
     'model is "n", stored with "m"; parameters.temperature is 1, stored with 0'),
])  # fmt: skip
def test_another_model_or_parameter(store: Store, changed: dict[str, Any], message: str) -> None:
    put(store, Response("A"))
    assert reason(store, identity=IDENTITY | changed) == message


def test_the_nearest_stored_model_is_named(store: Store) -> None:
    put(store, Response("A"), identity={"model": "far", "base_url": "http://c/v1"})
    put(store, Response("A"))
    assert reason(store, identity=IDENTITY | {"model": "n"}) == 'model is "n", stored with "m"'


def test_prompt_seed_and_repeat(store: Store) -> None:
    put(store, Response("A"))
    assert reason(store, query=replace(QUERY, prompt="Who else?")) == NEW_PROMPT
    assert reason(store, query=replace(QUERY, seed=8)) == NEW_SEED
    assert reason(store, query=replace(QUERY, repeat=1)) == NEW_REPEAT
    identity = IDENTITY | {"model": "n"}
    assert reason(store, identity=identity, query=replace(QUERY, prompt="Who else?")) == NEW_MODEL


def test_what_is_stored_and_not_reused(store: Store) -> None:
    put(store, Response(" "))
    assert reason(store) == "the stored answer is not reused: it was empty"
