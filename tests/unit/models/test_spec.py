from __future__ import annotations

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.spec import parse, slug


@pytest.mark.parametrize(
    ("text", "scheme", "target"),
    [
        ("sim:uniform", "sim", "uniform"),
        ("transformers:./my-checkpoint", "transformers", "./my-checkpoint"),
        ("transformers:C:\\models\\mine", "transformers", "C:\\models\\mine"),
        ("replay:answers?.jsonl", "replay", "answers?.jsonl"),
        ("python:package.module:attribute", "python", "package.module:attribute"),
        ("litellm:openai/gpt-4o", "litellm", "openai/gpt-4o"),
        ("openai/gpt-4o", "", "openai/gpt-4o"),
        ("openai/ft:gpt-4o:mine", "", "openai/ft:gpt-4o:mine"),
        ("ollama/llama3:8b", "", "ollama/llama3:8b"),
        ("hosted_vllm/a?b=c", "", "hosted_vllm/a?b=c"),
        ("gpt-4o", "", "gpt-4o"),
        ("", "", ""),
        (":x", "", ":x"),
    ],
)
def test_scheme_and_target(text: str, scheme: str, target: str) -> None:
    spec = parse(text, {})

    assert (spec.text, spec.scheme, spec.target, spec.options) == (text, scheme, target, {})


def test_options_of_simulated_models() -> None:
    spec = parse("sim:refusing?rate=0.3&group=Asian%20Female&attribute=a=b", {})

    assert spec.target == "refusing"
    assert spec.options == {"rate": "0.3", "group": "Asian Female", "attribute": "a=b"}


def test_arguments_are_kept_apart_from_options() -> None:
    assert parse("sim:uniform?refuse=0.1", {"style": "letter"}).arguments == {"style": "letter"}


@pytest.mark.parametrize("part", ["strength", "strength=", "=0.3"])
def test_an_option_needs_name_and_value(part: str) -> None:
    with pytest.raises(InputError) as error:
        parse(f"sim:stereotyped?refuse=0.1&{part}", {})

    text = f"sim:stereotyped?refuse=0.1&{part}"
    assert str(error.value) == f"model '{text}': '{part}' is not an option; write name=value"


def test_an_option_given_twice() -> None:
    with pytest.raises(InputError) as error:
        parse("sim:uniform?refuse=0.1&refuse=0.2", {})

    expected = "model 'sim:uniform?refuse=0.1&refuse=0.2': option 'refuse' is given twice; keep one"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("sim:uniform", "sim-uniform"),
        ("sim:stereotyped?strength=0.3", "sim-stereotyped-strength-0.3"),
        ("openai/GPT-4o", "openai-gpt-4o"),
        ("transformers:./My Checkpoint/", "transformers-.-my-checkpoint"),
        ("hosted_vllm/x", "hosted_vllm-x"),
        ("python:módulo:é", "python-m-dulo"),
    ],
)
def test_slug(spec: str, expected: str) -> None:
    assert slug(spec) == expected


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        parse("openai/m\udcff", {})
    assert str(refused.value) == r"model 'openai/m\udcff': expected text in UTF-8"
