from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from pytest_factorfair.domain import Query
from pytest_factorfair.errors import InputError
from pytest_factorfair.store import keys

IDENTITY = {"provider": "openai", "model": "gpt-4o", "temperature": 0.5}


def key(identity: Mapping[str, object], *, prompt: str, repeat: int, seed: int, picture: bytes = b"") -> str:
    (digest,) = keys(identity, [Query("case", prompt, (), repeat, seed, {}, picture=picture)])
    return digest


def test_key_is_the_hash_of_canonical_json() -> None:
    inner = hashlib.sha256(b'{"model":"gpt-4o","provider":"openai","temperature":0.5}').hexdigest()
    outer = f'{{"identity":"{inner}","prompt":"caf\\u00e9\\n","repeat":3,"seed":7}}'
    expected = hashlib.sha256(outer.encode()).hexdigest()
    assert key(IDENTITY, prompt="café\n", repeat=3, seed=7) == expected


def test_key_ignores_the_order_and_kind_of_the_mapping() -> None:
    turned = MappingProxyType(dict(reversed(IDENTITY.items())))
    assert key(turned, prompt="p", repeat=0, seed=0) == key(IDENTITY, prompt="p", repeat=0, seed=0)


def test_everything_that_can_change_an_answer_changes_the_key() -> None:
    distinct_keys = {
        key(IDENTITY, prompt="p", repeat=0, seed=0),
        key(IDENTITY, prompt="P", repeat=0, seed=0),
        key(IDENTITY, prompt="p ", repeat=0, seed=0),
        key(IDENTITY, prompt="p", repeat=1, seed=0),
        key(IDENTITY, prompt="p", repeat=0, seed=1),
        key(IDENTITY, prompt="p", repeat=0, seed=0, picture=b"a picture"),
        key({**IDENTITY, "temperature": 0.6}, prompt="p", repeat=0, seed=0),
        key({**IDENTITY, "top_p": None}, prompt="p", repeat=0, seed=0),
        key({**IDENTITY, "stop": ["p"]}, prompt="p", repeat=0, seed=0),
    }
    assert len(distinct_keys) == 9


def test_lone_surrogates_have_keys_of_their_own() -> None:
    assert key({}, prompt="\ud800", repeat=0, seed=0) != key({}, prompt="\\ud800", repeat=0, seed=0)


def test_keys_of_queries_are_those_of_single_calls_in_order() -> None:
    queries = [Query(str(n), f"prompt {n % 3}", (), n // 3, n * 11, {}) for n in range(7)]
    one_by_one = [
        key(IDENTITY, prompt=query.prompt, repeat=query.repeat, seed=query.seed) for query in queries
    ]
    assert keys(IDENTITY, queries) == tuple(one_by_one)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object(), b"bytes"])
def test_identity_that_is_not_json_is_refused_in_one_line(value: object) -> None:
    with pytest.raises(InputError, match="identity must be made of JSON values") as caught:
        key({"odd": value}, prompt="p", repeat=0, seed=0)
    assert "\n" not in str(caught.value)
