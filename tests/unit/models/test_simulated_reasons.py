"""The reasons of simulated respondents cite what decided, as often as it decided."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import explained, queries
from pytest_factorfair.domain import Exchange, Option, Query, Reason, Request, Response, Sampling
from pytest_factorfair.models import build
from pytest_factorfair.reading.reasons import Citations, reason
from tests.unit.models.asking import near
from tests.unit.models.sample import SAMPLE

SEEDS = range(15)
# The statistics of the sample that say something of race: two of three.
SPOKEN = 2 / 3

ReasonCitations = tuple[str | None, Query, Option | None, Reason]


@cache
def _asked() -> tuple[tuple[str | None, Query], ...]:
    return tuple(
        (case.context, query)
        for seed in SEEDS
        for sampling in [Sampling("balanced", samples=24, objective=4, seed=seed)]
        for case in cases(SAMPLE, sampling)
        if (query := explained(SAMPLE, case, sampling)) is not None
    )


@cache
def _explained(spec: str, most: int | None = None) -> tuple[ReasonCitations, ...]:
    """The queries of each context, or the first of them, with the chosen letter and the reason."""
    model = build(spec, {}, checklists=(SAMPLE,), custom={})
    citations = Citations(SAMPLE.attributes, [statistic.name for statistic in SAMPLE.statistics])

    async def all_() -> list[Response]:
        return [await model.ask(Request.of(query)) for _, query in _asked()[:most]]

    def told(context: str | None, query: Query, response: Response) -> ReasonCitations:
        option = next((option for option in query.options if f'"{option.letter}"' in response.text), None)
        return context, query, option, reason(Exchange(query, "k", response), citations)

    responses = asyncio.run(all_())
    return tuple(told(*asked, response) for asked, response in zip(_asked()[:most], responses, strict=True))


def _near(spec: str, context: str, cited: str, share: float) -> bool:
    return near(
        (cited in reason.cited for case_context, _, _, reason in _explained(spec) if case_context == context),
        share,
    )


def test_the_prejudiced_name_the_group_as_often_as_they_are_prejudiced() -> None:
    spec = "sim:stereotyped?strength=0.6&attribute=race"
    for context in ("base", "representativeness", "attribution"):
        assert _near(spec, context, "group", 0.6 * SPOKEN)
        assert not any({"prior", "news", "identity"} & reason.cited for _, _, _, reason in _explained(spec))


def test_a_respondent_that_follows_the_context_cites_it_as_often() -> None:
    spec = "sim:context_following?strength=0.5&prejudice=0.4&attribute=race"
    assert _near(spec, "base", "group", 0.4 * SPOKEN)
    assert _near(spec, "representativeness", "prior", 0.5 * SPOKEN)
    assert _near(spec, "representativeness", "group", (0.5 + 0.5 * 0.4) * SPOKEN)
    assert _near(spec, "attribution", "news", 0.5)
    assert _near(spec, "attribution", "group", 0.5 + 0.5 * 0.4 * SPOKEN)


def test_the_fair_cite_nothing_and_the_refusing_give_no_reason() -> None:
    assert not any(reason.cited for _, _, _, reason in _explained("sim:ideal"))
    spec = "sim:refusing?rate=0.3"
    assert near((reason.outcome == "refused" for _, _, _, reason in _explained(spec)), 0.3)


def test_the_group_named_is_that_of_who_was_chosen() -> None:
    for _, _, option, explanation in _explained("sim:oracle?attribute=race"):
        named = [race for race in SAMPLE.attribute("race").groups if race in explanation.text]
        assert option is not None
        assert named in ([], [option.groups["race"]])


@pytest.mark.parametrize("style", ["json", "letter", "sentence", "fenced"])
def test_every_style_gives_its_reason(style: str) -> None:
    assert all(
        reason.outcome == "answered" for _, _, _, reason in _explained(f"sim:oracle?style={style}", 60)
    )


def test_a_query_for_a_reason_has_its_own_key() -> None:
    sampling = Sampling("balanced", samples=72, objective=4, seed=0)
    for case in cases(SAMPLE, sampling):
        plain, asked = queries(SAMPLE, case, sampling), explained(SAMPLE, case, sampling)
        if case.part == "objective":
            assert asked is None
            continue
        assert asked is not None
        assert asked.options == plain[0].options
        assert asked.prompt.startswith(plain[0].prompt.removesuffix(SAMPLE.answer_format))
        assert asked.id not in {query.id for query in plain}
