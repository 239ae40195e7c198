from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field

from pytest_factorfair.errors import InputError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import Arguments
from tests.asking import spec


class Table(Arguments):
    temperature: arguments.Temperature = 0
    top_p: arguments.Share | None = None
    max_tokens: arguments.Count = 1024
    seed: arguments.Flag = False
    system: arguments.Text | None = None
    timeout: arguments.Seconds = 120
    body: Annotated[dict[str, object], arguments.PassThrough(frozenset({"model"}), same_names=True)] = Field(
        default_factory=dict
    )


def read(typed: dict[str, str], table: type[Arguments] = Table) -> dict[str, object]:
    """Parse arguments; return those that differ from the defaults."""
    return arguments.read(spec("openai/m", typed), table).model_dump(exclude_defaults=True)


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("temperature", "0.7", 0.7),
        ("temperature", "0", 0),
        ("top_p", "1", 1),
        ("max_tokens", "64", 64),
        ("seed", "true", True),
        ("timeout", "1e3", 1000.0),
        ("system", "12", "12"),
        ("system", '{"a": 1}', '{"a": 1}'),
        ("body.a", '{"a": [1, null]}', {"a": [1, None]}),
        ("body.a", "plain words", "plain words"),
        ("body.a", '"quoted"', "quoted"),
        ("body.a", "NaN", "NaN"),
        ("body.a", "[" * 100_000, "[" * 100_000),
        ("body.a", "", ""),
        ("body.a.b", "1", 1),
    ],
)
def test_valid_values_are_parsed(key: str, typed: str, value: object) -> None:
    collected, _, inner = key.partition(".")
    expected = {collected: {inner: value}} if inner else {key: value}
    assert {"temperature": 0, **read({key: typed})} == {"temperature": 0, **expected}
    assert type(getattr(arguments.read(spec("openai/m", {key: typed}), Table), collected)) is type(
        expected[collected]
    )


@pytest.mark.parametrize(
    ("key", "typed", "right"),
    [
        ("temperature", "hot", "a number from 0 to 100"),
        ("temperature", "-0.1", "a number from 0 to 100"),
        ("temperature", "true", "a number from 0 to 100"),
        ("temperature", "Infinity", "a number from 0 to 100"),
        ("temperature", "1e999", "a number from 0 to 100"),
        ("top_p", "0", "a number above 0 and at most 1"),
        ("top_p", "0.0", "a number above 0 and at most 1"),
        ("top_p", "1.5", "a number above 0 and at most 1"),
        ("max_tokens", "0", "a whole number of at least 1"),
        ("max_tokens", "1.0", "a whole number of at least 1"),
        ("max_tokens", "true", "a whole number of at least 1"),
        ("seed", "yes", "true or false"),
        ("seed", "1", "true or false"),
        ("timeout", "0", "a number of seconds, above 0 and at most 86400"),
        ("top_p", "null", "a number above 0 and at most 1"),
        ("system", "  ", "a text"),
    ],
)
def test_invalid_values_are_refused(key: str, typed: str, right: str) -> None:
    with pytest.raises(InputError) as caught:
        read({key: typed})
    assert str(caught.value) == f"model 'openai/m': argument '{key}' must be {right}, not '{typed}'"


def test_unknown_key_names_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        read({"temprature": "0"})
    assert str(caught.value) == (
        "model 'openai/m': argument 'temprature' is unknown; did you mean 'temperature'? "
        "(body.temprature=... is passed on unchanged)"
    )


def test_an_unknown_key_without_pass_through_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read({"body.x": "1"}, Arguments)
    assert str(caught.value) == "model 'openai/m': argument 'body.x' is unknown"


def test_bare_prefix_is_unknown() -> None:
    with pytest.raises(InputError, match=r"'body\.' is unknown"):
        read({"body.": "1"})


@pytest.mark.parametrize("key", ["api_key", "API_KEY", "body.api_key", "token", "body.x.password"])
def test_secret_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InputError, match="environment variable") as caught:
        read({key: "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "right"), [("model", "the run sets it"), ("top_p", "write top_p=... without 'body.'")]
)
def test_keys_that_the_run_sets_cannot_be_passed_on(key: str, right: str) -> None:
    with pytest.raises(InputError) as caught:
        read({f"body.{key}": "1"})
    assert str(caught.value) == f"model 'openai/m': argument 'body.{key}' cannot be given: {right}"


def test_arguments_override_a_preset() -> None:
    preset = {"top_p": 0.5, "system": "Hi", "body.a": 1, "body.b": 2}
    asked = arguments.read(spec("openai/m", {"system": "Ho", "body.b": "3"}), Table, preset=preset)
    assert asked == Table(top_p=0.5, system="Ho", body={"a": 1, "b": 3})


@pytest.mark.parametrize(("key", "typed"), [("system", "a \udcff"), ("body.a", '["\\ud800"]')])
def test_half_a_surrogate_pair_is_refused(key: str, typed: str) -> None:
    with pytest.raises(InputError) as refused:
        read({key: typed})
    assert str(refused.value) == f"model 'openai/m': argument '{key}' must be text in UTF-8, not {typed!a}"


def test_text_that_is_kept_as_typed_may_contain_an_escaped_surrogate() -> None:
    assert read({"system": '"\\ud800"'}) == {"system": '"\\ud800"'}
