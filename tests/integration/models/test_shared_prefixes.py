"""Prompts that begin alike are computed once, as far as the model's cache allows; its logits stay the same."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import pytest

from pytest_factorfair.local.shared_prefixes import ForwardPass, cheapest
from tests.extras import needs

pytestmark = needs("transformers")

COMMON = tuple(range(3, 43))
SCENARIOS = (tuple(range(50, 80)), tuple(range(60, 95)))
ROWS = [
    [*COMMON, *scenario, *range(letter, letter + 5 + letter % 3)]
    for scenario in SCENARIOS
    for letter in (5, 6, 7, 20, 21)
]
ALL = len(ROWS) * max(map(len, ROWS))
ONCE = range(len(COMMON) + sum(map(len, SCENARIOS)) + len(ROWS) * 12)
EACH = range(ALL, ALL + 1)


def model_of(kind: str, **arguments: object) -> Any:
    torch, transformers = import_module("torch"), import_module("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 128}
    config = getattr(transformers, f"{kind}Config")(**sizes, **arguments)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


LLAMA = {"intermediate_size": 64, "num_key_value_heads": 2, "initializer_range": 0.5}
GEMMA = {"intermediate_size": 64, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.5}


@pytest.mark.parametrize(
    ("kind", "arguments", "tokens"),
    [
        ("Llama", LLAMA, ONCE),
        ("GPT2", {"initializer_range": 0.5}, ONCE),
        ("Bloom", {"initializer_range": 0.5}, EACH),
        ("Mpt", {"initializer_range": 0.5}, EACH),
        ("Mistral", {**LLAMA, "sliding_window": 1000}, ONCE),
        ("Mistral", {**LLAMA, "sliding_window": 24}, EACH),
        ("Gemma2", {**GEMMA, "sliding_window": 1000}, ONCE),
        ("Gemma2", {**GEMMA, "sliding_window": 24}, EACH),
        ("Mamba", {"state_size": 4, "pad_token_id": 0}, EACH),
    ],
    ids=[
        "rotary positions",
        "absolute positions",
        "distances by the attention mask",
        "distances by the place in the row",
        "a wide window",
        "a narrow window",
        "every other layer has a wide window",
        "every other layer has a narrow window",
        "a recurrent state",
    ],
)
def test_logits_are_those_of_each_prompt_alone(
    kind: str, arguments: dict[str, object], tokens: range
) -> None:
    torch, model = import_module("torch"), model_of(kind, **arguments)
    forward, computed = ForwardPass(model, pad=0), [0]

    def count(_: object, __: object, inputs: dict[str, Any]) -> None:
        computed[0] += inputs["input_ids"].numel()

    hook = model.register_forward_pre_hook(count, with_kwargs=True)
    logits = forward(ROWS)
    hook.remove()
    assert computed[0] in tokens
    with torch.inference_mode():
        alone = torch.stack([model(torch.tensor([row])).logits[0, -1] for row in ROWS])
    assert torch.allclose(logits.softmax(-1), alone.softmax(-1), atol=1e-5)


SIGNS = ("system one A", "system one B", "system one BC", "system two A", "system two, D")


@pytest.mark.parametrize("overhead", [0, 3, 1000])
@pytest.mark.parametrize("rows", [SIGNS, (*SIGNS, "sys"), SIGNS[:1], SIGNS[:1] * 3])
def test_cuts_leave_the_fewest_tokens_to_compute(rows: tuple[str, ...], overhead: int) -> None:
    def cost(cuts: tuple[int, ...]) -> int:
        levels = zip((0, *cuts), cuts, strict=False)
        shared = sum(len({row[:end] for row in rows}) * (end - start) + overhead for start, end in levels)
        return shared + len(rows) * (max(map(len, rows)) - max((0, *cuts)))

    places = range(1, min(map(len, rows)))
    lowest = min(cost(cuts) for number in range(4) for cuts in combinations(places, number))
    assert cost(cheapest([[*map(ord, row)] for row in rows], pass_cost=overhead)) == lowest
