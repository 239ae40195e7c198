from __future__ import annotations

import math
from importlib import import_module
from threading import Event
from typing import Any

import pytest

from pytest_factorfair.errors import RetryableModelError
from pytest_factorfair.local.transformers_model import Sampler
from tests.extras import needs

pytestmark = needs("transformers")

LOGITS = (1.0, 0.0, -1.0, 2.0, -math.inf)


def drawn(temperature: float, *, top_p: float = 1, seeds: range = range(4000)) -> list[int]:
    """The token taken for each seed, all rows having the same logits."""
    torch: Any = import_module("torch")
    draw = Sampler(seeds, temperature=temperature, top_p=top_p, device="cpu", closing=Event())
    scores = torch.tensor([LOGITS] * len(seeds))
    return [int(token) for token in draw(torch.zeros_like(scores), scores).argmax(dim=1)]


def softmax(temperature: float, tokens: tuple[int, ...] = (0, 1, 2, 3)) -> list[float]:
    weights = [math.exp(LOGITS[token] / temperature) if token in tokens else 0.0 for token in range(5)]
    return [weight / sum(weights) for weight in weights]


def check(tokens: list[int], expected: list[float]) -> None:
    n = len(tokens)
    for token, p in enumerate(expected):
        assert abs(tokens.count(token) / n - p) <= 4 * math.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax(temperature: float) -> None:
    check(drawn(temperature), softmax(temperature))


def test_top_p_keeps_the_likeliest() -> None:
    # At temperature 1 the shares are .64, .24, .09, .03: the first two are the fewest that reach 0.7.
    check(drawn(1, top_p=0.7), softmax(1, tokens=(3, 0)))


def test_temperature_0_takes_the_largest() -> None:
    assert set(drawn(0)) == {3}


def test_seed_alone_decides() -> None:
    assert drawn(1, seeds=range(7, 12)) == drawn(1, seeds=range(20))[7:12]


def test_closing_ends_the_batch() -> None:
    closing = Event()
    closing.set()
    draw = Sampler([1], temperature=1, top_p=1, device="cpu", closing=closing)
    with pytest.raises(RetryableModelError):
        draw(None, None)
