"""The table of costs in the documentation is what litellm's price list says."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pytest_factorfair import benchmarks, models
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.domain import AnswerMode
from pytest_factorfair.models import litellm_catalogue, prices
from pytest_factorfair.models.prices import Price
from tests.extras import needs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
PINNED = re.findall(r"^litellm==(\S+)", (ROOT / "tests" / "constraints.txt").read_text("utf-8"), re.MULTILINE)
TITLE = "| model | text or json | in batches | probabilities | in batches | each 100 reasoning tokens |\n"


@cache
def first_look(mode: AnswerMode) -> tuple[int, int]:
    """The answers of the shipped checklist in the preset ``ci``, and the tokens of their prompts."""
    preset, checklist = PRESETS["ci"], benchmarks.load("fact_or_fair", truth="audited", base=ROOT)
    sampling = replace(preset.sampling, samples=preset.samples(mode))
    prompts = [
        query.prompt
        for case in benchmarks.cases(checklist, sampling)
        for query in benchmarks.queries(checklist, case, sampling)
    ]
    return len(prompts), sum(map(len, prompts)) // 4


def cost(price: Price | None, mode: AnswerMode, *, tokens: int) -> str:
    """The cost of the first look if each answer takes so many tokens."""
    answers, tokens_in = first_look(mode)
    return (
        "-" if price is None else f"${price.token_in * tokens_in + price.token_out * tokens * answers:,.2f}"
    )


def row(model: str) -> str:
    entry, full = litellm_catalogue.entry(model), prices.listed(model)
    built = models.build(model, {}, checklists=(), custom={}, asked=False)
    half: Price | None = getattr(built, "batch_price", None)  # a provider without batches has none
    reasons = bool(entry.get("supports_reasoning"))
    letters = "probabilities" in litellm_catalogue.modes(model) and (
        not reasons or bool(entry.get("supports_none_reasoning_effort"))
    )
    assert full is not None
    cells = [
        f"`{model}`",
        *(cost(price, "text", tokens=8) for price in (full, half)),
        *(cost(price, "probabilities", tokens=1) if letters else "-" for price in (full, half)),
        cost(replace(full, token_in=0.0), "text", tokens=100) if reasons else "-",
    ]
    return f"| {' | '.join(cells)} |"


@needs("litellm")
def test_the_table_of_costs_has_the_prices_of_the_pinned_list() -> None:
    assert f"litellm {PINNED[0]} " in PAGE
    rows = PAGE.partition(TITLE)[2].split("\n\n")[0].splitlines()[1:]
    assert len(rows) == 6
    if version("litellm") == PINNED[0]:
        assert rows == [row(text.split("`")[1]) for text in rows]
