"""A metric is one declaration: scores, gates, changes, plans, tables and the page follow from it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks.combined import measure, report, selected
from pytest_factorfair.benchmarks.fact_or_fair.benchmark import FactOrFairBenchmark
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import (
    Design,
    RangeIfMissing,
    TallyMetric,
    TallyScore,
)
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import score_tables
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Estimation,
    detectable_distance,
)
from pytest_factorfair.benchmarks.measuring import ReportInputs, SelectedCounts
from pytest_factorfair.gates import Terms, check, judge, parse
from pytest_factorfair.reports.sections import sections
from pytest_factorfair.statistics.arrays import FloatArray, divided
from pytest_factorfair.statistics.estimate import Estimate, error_of_mean, share_of
from tests.unit.reports.paper_tables.builders import summary
from tests.unit.scoring.builders import objective


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Silent(TallyMetric):
    """The share of questions without an answer that can be read."""

    def plugin(self, tally: Tally) -> float:
        return float((tally.unparsed + tally.errors).sum() / tally.asked.sum())

    def estimate(self, tally: Tally, estimation: Estimation = CORRECTED) -> Estimate:
        del estimation
        return share_of(int((tally.unparsed + tally.errors).sum()), int(tally.asked.sum()))

    def by_cell(self, tally: Tally) -> FloatArray:
        return divided(tally.unparsed + tally.errors, tally.asked)

    def range_if_missing(self, tally: Tally) -> RangeIfMissing:
        return self.plugin(tally), self.plugin(tally)

    def error(self, threshold: float, design: Design, *, regression: bool) -> float | None:
        del regression
        return error_of_mean(threshold, 2 * design.statistics * design.n)


SILENCE = Silent(
    name="silence_rate",
    label="silence rate",
    question="how many questions get no answer that can be read?",
    better="lower",
    missing="all counted",
    column=True,
    diagnostic="silent",
)
RUN = objective([[[20, 10], [20, 10]]] * 2, unparsed=[[6, 4], [6, 4]], errors=[[4, 6], [4, 6]])


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, SILENCE.name, SILENCE)


def test_a_new_metric_is_scored_and_judged() -> None:
    """40 of 160 have none; Wilson's one-sided bounds at 5 % are .198 and .310."""
    gates = [parse("silence_rate[objective,gender] <= 0.32"), parse("silence_rate <= 0.1")]
    check(gates, [RUN])
    passed, failed = judge(gates, [RUN], incomplete=None)
    assert (passed.judgement, passed.reason) == ("passed", "0.250 (0.198 to 0.310) is at most 0.32")
    assert (failed.judgement, failed.subject) == ("failed", "silence_rate[objective,gender] <= 0.1")
    rows = report([RUN], ReportInputs()).scores
    (row,) = (score for score in rows if score.metric == "silence_rate")
    assert (row.value, row.n) == (0.25, 160)


def test_the_change_and_power_of_a_new_metric_follow() -> None:
    better = replace(RUN, unparsed=RUN.unparsed * 0, errors=RUN.errors * 0)
    gate = parse("regression(silence_rate) <= 0.05")
    (verdict,) = judge([gate], [RUN], incomplete=None, terms=Terms(baseline=BaselineCounts((better,))))
    assert (verdict.judgement, verdict.value) == ("failed", 0.25)
    (measurement,) = selected(parse("silence_rate <= 0.2"), [RUN], CORRECTED)
    detectable = detectable_distance(measurement, 0.2, regression=False, n=40, bound=1.645)
    assert detectable == pytest.approx((1.645 + 0.8416) * (0.2 * 0.8 / 160) ** 0.5, abs=1e-4)


def test_the_column_and_page_of_a_new_metric_follow() -> None:
    """10 of the 40 questions about each direction of the first statistic have no answer."""
    reported = report([RUN], ReportInputs())
    shown = summary(reported.scores, rows=reported.rows)
    (table,) = score_tables(shown)
    column = table.headings.index("silence rate")
    assert table.meanings[column] == "How many questions get no answer that can be read? Lower is better."
    assert str(table.rows[0].cells[column]).startswith("0.250")
    headings = [heading for table in sections(shown).diagnostics for heading in table.headings]
    assert headings.count("silent") == 1
    page = FactOrFairBenchmark().page(shown, ())
    assert {"name": "silence_rate", "label": "silence rate", "better": "lower"} in page["scores"]
    assert page["cells"][0]["scores"]["silence_rate"] == 0.25


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SilentOnce(Silent):
    """One score of all models, which gates can filter by checklist only."""

    filters: AbstractSet[str] | None = frozenset({"checklist"})

    def measurements(self, selection: SelectedCounts[Tally], estimation: Estimation) -> Iterator[TallyScore]:
        yield TallyScore(self, selection.counts[0], ("all models",), estimation)


def test_a_metric_may_say_what_gates_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [RUN, replace(RUN, model="another")]
    judged = measure(FactOrFairBenchmark(), "silence_rate", ["gender"], runs, CORRECTED)
    assert [score.words for score in judged] == [
        (RUN.model, "objective", "gender"),
        ("another", "objective", "gender"),
    ]
    once = SilentOnce(name="silence_rate", label="silence rate", question="how many?", better="lower")
    monkeypatch.setitem(METRICS, once.name, once)
    (score,) = measure(FactOrFairBenchmark(), "silence_rate", [], runs, CORRECTED)
    assert score.words == ("all models",)
    assert measure(FactOrFairBenchmark(), "silence_rate", ["gender"], runs, CORRECTED) == ()


def test_the_recipe_names_every_optional_field() -> None:
    recipe = (Path(__file__).parents[3] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    recipe = recipe.partition("**A metric of FACT-OR-FAIR.**")[2].partition("**A benchmark.**")[0]
    optional = {field.name for field in fields(TallyMetric) if field.default is not MISSING}
    assert sorted(name for name in optional if f"`{name}`" not in recipe) == []
