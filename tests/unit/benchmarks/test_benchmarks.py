"""A third benchmark, of a user (conftest_examples/own_benchmark): no other room needs to know it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks import register
from pytest_factorfair.benchmarks.combined import selected
from pytest_factorfair.benchmarks.comparing import ComparedModel
from pytest_factorfair.benchmarks.group_counts import GroupCounts
from pytest_factorfair.benchmarks.measurement import CORRECTED, BaselineCounts, Counts, detectable_distance
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.rates import Rate, rates
from pytest_factorfair.benchmarks.schema import schemas
from pytest_factorfair.domain import Answer, CaseKey, Checklist, Record, ReportRows, Sampling, Score
from pytest_factorfair.errors import ChecklistError, InputError
from pytest_factorfair.gates import Terms, check, expand, judge, parse, unjudged
from pytest_factorfair.gates.comparison import boards, changes
from pytest_factorfair.runs.baseline import Baseline
from tests.own_benchmark import FOLDER, GREETINGS, HELLO
from tests.unit.reports.paper_tables.builders import summary

SAMPLING = Sampling("balanced", samples=3, objective=1, seed=0)


@pytest.fixture(autouse=True)
def third(tmp_path: Path) -> Iterator[None]:
    register([GREETINGS])
    (tmp_path / "hello.yaml").write_text(HELLO, encoding="utf-8")
    yield
    register([])


def test_from_file_to_queries(tmp_path: Path) -> None:
    hello = benchmarks.load("hello.yaml", truth="true", base=tmp_path)
    assert hello.attribute("size").words == {"tall": "tall", "short": "short"}
    hello_cases = benchmarks.cases(hello, SAMPLING)
    assert [(case.id, case.samples, case.marks) for case in hello_cases] == [
        ("morning", 3, ("greetings", "size")),
        ("day", 3, ("greetings", "size")),
        ("evening", 3, ("greetings", "size")),
        ("night", 3, ("greetings", "size")),
    ]
    asked = benchmarks.queries(hello, hello_cases[2], SAMPLING)
    prompt = "Good evening! Whom do you greet? A: tall B: short"
    assert [(query.prompt, query.repeat) for query in asked] == [(prompt, n) for n in range(3)]
    assert benchmarks.benchmark_of(hello).notices(hello, SAMPLING) == ("hello is short",)


def test_overlays_and_style(tmp_path: Path) -> None:
    overlay = "extends: hello.yaml\nname: late\ngreetings:\n  dawn: {text: Good dawn}\n  night: null\n"
    (tmp_path / "late.yaml").write_text(overlay, encoding="utf-8")
    late = benchmarks.load("late.yaml", truth="true", base=tmp_path)
    assert [case.id for case in benchmarks.cases(late, SAMPLING)] == ["morning", "day", "evening", "dawn"]
    assert benchmarks.lint("hello.yaml", base=tmp_path) == ("hello.yaml:10: greetings.evening: is late",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Good morning", "Bad morning", "hello.yaml:8: greetings.morning.text: a greeting is good"),
        ("{text: Good m", "{txet: Good m", "hello.yaml:8: greetings.morning.txet: unknown key; did you mean 'text'?"),
        ("protocol: greetings", "protocol: greeting", "hello.yaml:4: protocol: unknown protocol 'greeting'; did you mean 'greetings'?"),
    ],
)  # fmt: skip
def test_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "hello.yaml").write_text(HELLO.replace(old, new), encoding="utf-8")
    with pytest.raises(ChecklistError) as caught:
        benchmarks.load("hello.yaml", truth="true", base=tmp_path)
    assert str(caught.value) == message


def test_a_file_without_truth_sets_loads_under_any_truth(tmp_path: Path) -> None:
    assert benchmarks.load("hello.yaml", truth="audited", base=tmp_path).truth == "audited"


class Renamed(type(GREETINGS)):  # type: ignore[misc]  # a class that is loaded by its path
    """The same benchmark under another name."""

    name = "salutes"


class Shadowing(Renamed):
    metrics = dict(GREETINGS.metrics) | {"s_kld": Metric("s_kld", "s_kld", "how tall?", "higher")}


class Rated(Renamed):
    metrics = dict(GREETINGS.metrics) | rates(Rate)


class Nameless(Renamed):
    def __getattribute__(self, name: str) -> Any:
        if name == "name":
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ([GREETINGS, GREETINGS], "benchmark 'greetings': there is one of this name; choose another"),
        ([Shadowing()], "benchmark 'salutes': metric 's_kld' is one of 'fact_or_fair'; choose another name"),
        ([7], "benchmarks: 7 is not a benchmark: derive its class from Benchmark"),
        ([type(GREETINGS)], "benchmarks: benchmark GreetingsBenchmark: give an object, GreetingsBenchmark()"),
        ([Nameless()], "benchmarks: benchmark Nameless has no name"),
        (7, "benchmarks: expected a list, got 7"),
    ],
)  # fmt: skip
def test_existing_names_of_benchmarks_and_metrics_are_refused(added: Sequence[Any], message: str) -> None:
    """Then nothing is registered: the benchmarks are those of before."""
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        register(added)
    assert [*benchmarks.benchmarks()] == [*benchmarks.SHIPPED, "greetings"]


def test_registering_leaves_the_users_object_alone() -> None:
    """What a run looks up is another object, with the user's own methods, also those of the object."""
    mine = Renamed()
    mine.label = lambda *_: "mine"
    before = dict(vars(mine))
    for _ in range(2):
        register([mine])
    assert vars(mine) == before
    registered = benchmarks.benchmarks()["salutes"]
    assert isinstance(registered, Renamed)
    assert registered.label("tallness", "", None) == "mine"


def test_benchmarks_of_a_user_may_share_a_metric() -> None:
    register([GREETINGS, Renamed()])
    assert [*benchmarks.benchmarks()][len(benchmarks.SHIPPED) :] == ["greetings", "salutes"]


def test_every_benchmark_may_have_the_rates_of_lost_answers() -> None:
    register([Rated()])
    assert "refusal_rate" in benchmarks.benchmarks()["salutes"].metrics


def test_a_run_within_a_run_leaves_the_benchmarks_of_the_outer_one() -> None:
    register([Renamed()], nested=True)
    assert [*benchmarks.benchmarks()][len(benchmarks.SHIPPED) :] == ["greetings", "salutes"]
    register([Renamed()])
    assert [*benchmarks.benchmarks()][len(benchmarks.SHIPPED) :] == ["salutes"]


def test_metrics_that_shipped_benchmarks_share_judge_alike() -> None:
    """A search by name finds that of any of them: rates of lost answers, and scans."""
    metrics = [
        metric for name in benchmarks.SHIPPED for metric in benchmarks.benchmark_named(name).metrics.values()
    ]
    times = Counter(metric.name for metric in metrics)
    assert {name for name, number in times.items() if number > 1} == {*rates(Rate), "filtered_rate", "scan"}
    for name in times:
        alike = [metric for metric in metrics if metric.name == name]
        assert len({(m.label, m.better, m.declared_range, m.missing, m.changes) for m in alike}) == 1, name


def test_a_report_is_printed_by_the_benchmarks_of_its_checklists() -> None:
    """A rate tells nothing; if no score tells, all benchmarks print."""

    def named(*scores: tuple[str, str]) -> list[str]:
        rows = [Score("m", checklist, "part", None, "size", metric, 0.5, 9) for checklist, metric in scores]
        return [benchmark.name for benchmark in benchmarks.benchmarks_of(rows)]

    assert named(("hello", "tallness"), ("hello", "refusal_rate")) == ["greetings"]
    assert named(("b", "implicit"), ("a", "s_fact"), ("a", "influence_in_group")) == [
        "fact_or_fair",
        "faintbench",
    ]
    assert named(("a", "refusal_rate")) == named() == [*benchmarks.names()]


def test_scores_of_a_benchmark_that_nobody_added_have_their_names() -> None:
    assert isinstance(benchmarks.benchmark_with("tallness"), type(GREETINGS))
    register([])
    unknown = benchmarks.benchmark_with("tallness")
    assert unknown.label("tallness", "greetings", None) == "tallness"
    assert not unknown.on_card(Score("m", "hello", "greetings", None, "size", "tallness", 0.5, 9))


def test_counts_that_reports_cannot_contain_are_refused_before_anything_is_asked() -> None:
    class Plain:
        pass

    class Odd(Renamed):
        counts = Plain

    with pytest.raises(InputError, match=r"^benchmark 'salutes': counts: not a class of plain values: "):
        register([Odd()])


@dataclass(frozen=True)
class Row:
    model: str
    greeting: str


def test_rows_that_reports_cannot_contain_are_refused_before_anything_is_asked() -> None:
    def refusal(name: str, row: type, *key: str) -> str:
        class Listed(Renamed):
            rows = (ReportRows[Any](name, row, key),)

        with pytest.raises(InputError) as refused:
            register([Listed()])
        return str(refused.value).removeprefix(f"benchmark 'salutes': rows '{name}': ")

    others = "reports have others of this name; choose another"
    assert [refusal(name, Row) for name in ("scores", "schema", "topics", "scans")] == [others] * 4
    assert refusal("greeted", Row, "hour") == "expected a dataclass with the fields model, hour"
    assert refusal("greeted", dict) == "expected a dataclass with the fields model"
    assert refusal("greeted", type("Plain", (), {})).startswith("not a class of plain values: ")


def test_every_report_has_the_rows_of_shipped_benchmarks() -> None:
    """Their names are known without importing them."""
    names = [rows.name for name in benchmarks.SHIPPED for rows in benchmarks.benchmark_named(name).rows]
    assert {*names} == {*benchmarks.SHIPPED_ROWS}


def test_a_report_without_cases_of_a_benchmark_has_no_counts() -> None:
    checklist = benchmarks.load("hello.yaml", truth="true", base=FOLDER)
    assert GREETINGS.count([], checklist, (), models=["m"], sampling=SAMPLING) == ()


def test_the_files_of_a_users_benchmark_have_a_schema() -> None:
    schema: Any = jsonschema.Draft202012Validator(schemas()["checklist.schema.json"])
    right, overlay = yaml.safe_load(HELLO), {"extends": "hello.yaml", "name": "late"}
    assert schema.is_valid(right)
    assert not schema.is_valid({**right, "greetings": {"night": {"txet": "Good night"}}})
    assert schema.is_valid({**overlay, "greetings": {"morning": None, "night": {"text": "Good night"}}})
    assert not schema.is_valid({**overlay, "greetings": {"night": {"txet": "Good night"}}})
    assert json.dumps(schema.schema).count("greetings.Checklist") == 2


def _greeted(tall: int, short: int, refused: int = 0, model: str = "m") -> tuple[Record, ...]:
    """The records of so many greetings."""
    groups = ["tall"] * tall + ["short"] * short + [None] * refused
    answers = tuple(
        Answer(
            str(number),
            "answered" if group else "refused",
            "",
            None,
            {"size": group} if group else {},
            {},
            "",
        )
        for number, group in enumerate(groups)
    )
    return (Record(CaseKey(model, "hello", "morning"), answers),)


@pytest.fixture
def hello(tmp_path: Path) -> Checklist:
    return benchmarks.load("hello.yaml", truth="true", base=tmp_path)


def _counts(hello: Checklist, records: Sequence[Record], *models: str) -> tuple[Counts, ...]:
    cases = benchmarks.cases(hello, SAMPLING)
    counts: tuple[Counts, ...] = benchmarks.benchmark_of(hello).count(
        records, hello, cases, models=models or ("m",), sampling=SAMPLING
    )
    return counts


def test_gates_of_a_users_benchmark_are_checked_planned_and_judged(hello: Checklist) -> None:
    """76 of 100 tall ones: Wilson's one-sided bounds at 5 % are .684 and .823."""
    gates = expand(["default", "tallness[hello] >= 0.5"], checklists=[hello], sampling=SAMPLING)
    assert [gate.text for gate in gates] == ["tallness <= 0.80", "tallness[hello] >= 0.5"]
    nothing = _counts(hello, ())
    check(gates, nothing)
    with pytest.raises(
        InputError, match=r"^gate 'tallness\[noon\] >= 0.5': unknown filter 'noon'; known: hello, m$"
    ):
        check([parse("tallness[noon] >= 0.5")], nothing)
    with pytest.raises(InputError, match="no checklist of this run measures s_fact"):
        check([parse("s_fact >= 0.5")], nothing)
    (foreseen,) = selected(gates[0], nothing, CORRECTED)
    assert detectable_distance(foreseen, 0.8, regression=False, n=100, bound=1.645) == pytest.approx(
        2.4866 * 0.04, abs=1e-4
    )
    counts = _counts(hello, _greeted(76, 24))
    close, high = judge(gates, counts, incomplete=None)
    assert (close.judgement, close.subject) == ("inconclusive", "tallness[hello] <= 0.8")
    assert (high.judgement, high.reason) == ("passed", "0.760 (0.683 to 0.823) is at least 0.50")
    assert unjudged([], counts) == ("answers in greetings",)
    (missing_answers,) = judge(gates[1:], _counts(hello, _greeted(40, 10, 50)), incomplete=None)
    assert missing_answers.judgement == "inconclusive"
    assert "50.0% of the answers in greetings are missing" in missing_answers.reason


def test_models_and_runs_of_a_users_benchmark_are_compared(hello: Checklist) -> None:
    former = BaselineCounts(_counts(hello, _greeted(90, 10)))
    counts = _counts(hello, _greeted(60, 40))
    gate = parse("regression(tallness) >= -0.02")
    (verdict,) = judge([gate], counts, incomplete=None, terms=Terms(baseline=former))
    assert (verdict.judgement, verdict.name) == ("failed", "regression-tallness-hello")
    (change,) = changes(counts, former)
    assert change.regressed
    assert change.change == pytest.approx(-0.3)
    (board,) = boards([ComparedModel("new", counts), ComparedModel("old", former.counts)])
    assert [(standing.rank, standing.model, standing.letters) for standing in board.standings] == [
        (1, "old", "a"), (2, "new", "b"),
    ]  # fmt: skip


def test_a_former_report_of_a_users_benchmark_is_counted_again(hello: Checklist) -> None:
    sampling = {name: getattr(SAMPLING, name) for name in ("design", "samples", "objective", "seed")}
    report = Baseline("old.json", {"models": {"m": {}}, **sampling}, (), _greeted(90, 10, 5), (), None)
    asked = [(hello, benchmarks.cases(hello, SAMPLING))]
    (old,) = report.counts(asked)
    assert isinstance(old, GroupCounts)
    assert old.cases["morning"] == ({"tall": 90, "short": 10}, 105, 5, 0, 0)
    assert old.cases["night"] == ({}, 0, 0, 0, 0)
    assert old.total == old.cases["morning"]


def test_scores_of_several_parts_have_a_row_each_in_the_terminal() -> None:
    """One part of one metric needs no name: the attribute is the row."""
    scores = [
        Score("m", "hello", part, None, "size", "tallness", value, 100)
        for part, value in (("greetings", 0.75), ("farewells", 0.25))
    ]
    brief = GREETINGS.brief(summary(scores))
    assert brief is not None
    assert [(row.label, row.cells[0][:5]) for row in brief.rows] == [
        ("greetings size", "0.750"),
        ("farewells size", "0.250"),
    ]
    alone = GREETINGS.brief(summary(scores[:1]))
    assert alone is not None
    assert [row.label for row in alone.rows] == ["size"]
