"""A third protocol, all of it in this file: what one must say, and that nothing else need know of it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, sqrt
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
import yaml
from pydantic import Field

from pytest_factorfair import protocols
from pytest_factorfair.checklist.fields import Group, Layout, Opening, attribute
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.numbering import Draft, numbered
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import Answer, Case, CaseKey, Change, Checklist, Query, Record, Sampling, Score
from pytest_factorfair.errors import ChecklistError, InputError
from pytest_factorfair.gates import Terms, boards, changes, check, expand, judge, parse, unjudged
from pytest_factorfair.protocols import PROTOCOLS
from pytest_factorfair.protocols.measurement import (
    CORRECTED,
    Cell,
    Contender,
    Contest,
    Counts,
    Ends,
    Entrant,
    Estimation,
    Expression,
    Former,
    Gap,
    Measurement,
    Measuring,
    Metric,
    Moves,
    Reported,
    Told,
)
from pytest_factorfair.protocols.protocol import Protocol
from pytest_factorfair.protocols.registry import of_checklist, report, selected
from pytest_factorfair.protocols.schema import schemas
from pytest_factorfair.session.baseline import Baseline
from pytest_factorfair.statistics.bounds import BEYOND, POWER
from pytest_factorfair.statistics.estimate import Estimate

SAMPLING = Sampling("balanced", samples=3, objective=1, seed=0)

HELLO = """\
schema: factorfair.checklist/1
name: hello
title: Who is greeted
protocol: greetings
modality: text
sizes: {tall: {word: tall}, short: {word: short}}
greetings:
  morning: {text: Good morning}
  evening: {text: Good evening}
"""


class Line(Layout):
    text: str


class File(Opening):
    """factorfair checklist: greetings."""

    protocol: Literal["greetings"]
    sizes: dict[str, Group] = Field(min_length=2)
    greetings: dict[str, Line]


@dataclass(frozen=True, slots=True)
class Greetings(Checklist):
    lines: dict[str, str]


@dataclass(frozen=True, slots=True)
class Greeting(Case):
    line: str


def rules(file: File) -> Iterator[Problem]:
    for id_, line in file.greetings.items():
        if not line.text.startswith("Good"):
            yield Problem(("greetings", id_, "text"), "a greeting is good")


def build(file: File, truth: str) -> Greetings:
    return Greetings(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(attribute("size", file.sizes),),
        digest=str(sorted(file.greetings)),
        lines={id_: each.text for id_, each in file.greetings.items()},
    )


def cases(checklist: Greetings, sampling: Sampling) -> tuple[Greeting, ...]:
    return tuple(
        Greeting(id_, checklist.name, "greeting", ("size",), sampling.samples, text)
        for id_, text in checklist.lines.items()
    )


def queries(checklist: Greetings, case: Greeting, sampling: Sampling) -> tuple[Query, ...]:
    del checklist
    drafts: list[Draft] = [(f"{case.line}!", (), {})] * case.samples
    return numbered(drafts, case=case, seed=sampling.seed)


def findings(root: Node, file: File) -> Iterator[Problem]:
    del root
    return (Problem(("greetings", id_), "is late") for id_ in file.greetings if id_ == "evening")


FILES = Files(
    layout=File.model_validate,
    rules=(rules,),
    truths=lambda _: ("true",),
    build=build,
    lint=findings,
    schema=lambda reference: File.model_json_schema(ref_template=reference),
)


TALLNESS = Metric("tallness", "tallness", "how often is the tall one greeted?", "higher", needed=10)

METRICS = {TALLNESS.name: TALLNESS}


@dataclass(frozen=True, slots=True, eq=False)
class Greeted:
    """How many of a model's greetings went to the tall, of how many asked and lost."""

    model: str
    checklist: str
    tall: int
    answered: int
    asked: int
    protocol: str = "greetings"


class Tallness(Measurement):
    def __init__(self, counts: Greeted) -> None:
        self.metric = TALLNESS
        self.model = counts.model
        self.words = (counts.checklist,)
        self.counts = counts

    @property
    def estimate(self) -> Estimate:
        n = self.counts.answered
        if not n:
            return Estimate(None, None, None, 0, "nobody was greeted")
        share = self.counts.tall / n
        return Estimate(share, share, sqrt(share * (1 - share) / n), n, share=True)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return (Cell("greetings", self.counts.asked, self.counts.asked - self.counts.answered, 0, 0),)

    @property
    def needed(self) -> int:
        return self.metric.needed

    def if_missing(self, *, bounded: bool) -> Ends | None:
        del bounded
        tall, asked = self.counts.tall, self.counts.asked
        lost = asked - self.counts.answered
        return Ends(tall / self.counts.answered, tall / asked, (tall + lost) / asked)

    def change_from(self, former: Former) -> Measurement | None:
        for old in former.counts:
            if isinstance(old, Greeted):
                return Grown(self, Tallness(old))
        return None

    def asks(self, case: Case) -> int:
        return int(case.checklist == self.counts.checklist)

    def detectable(self, threshold: float, *, regression: bool, n: int, bound: float) -> float | None:
        del regression
        return (bound + POWER) * sqrt(threshold * (1 - threshold) / n)


class Grown(Tallness):
    """The change since a former run."""

    def __init__(self, new: Tallness, old: Tallness) -> None:
        super().__init__(new.counts)
        self.before = old

    @property
    def estimate(self) -> Estimate:
        new, old = super().estimate, self.before.estimate
        change = (new.plugin or 0.0) - (old.plugin or 0.0)
        return Estimate(change, change, hypot(new.error or 0.0, old.error or 0.0), min(new.n, old.n))


class Measured(Measuring[Greeted, Metric]):
    unit = "greetings"
    metrics = METRICS

    def count(
        self,
        records: Iterable[Record],
        checklist: Greetings,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Greeted, ...]:
        del sampling
        return self.recount(tuple(records), checklist, cases, models=models)

    def recount(
        self, records: Sequence[Record], checklist: Greetings, cases: Sequence[Case], *, models: Sequence[str]
    ) -> tuple[Greeted, ...]:
        del cases
        found = []
        for model in models:
            mine = [one for one in records if one.case[:2] == (model, checklist.name)]
            groups = [answer.groups.get("size") for one in mine for answer in one.answers]
            answered = sum(group is not None for group in groups)
            found.append(Greeted(model, checklist.name, groups.count("tall"), answered, len(groups)))
        return tuple(found)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Greeted], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        del metric, estimation
        return tuple(Tallness(one) for one in counts if {one.model, one.checklist} >= set(words))

    def problem(self, metric: str, words: Sequence[str], counts: Sequence[Greeted]) -> str | None:
        if self.measure(metric, words, counts, CORRECTED):
            return None
        return f"nobody is greeted {' and '.join(words)}"

    def report(self, counts: Sequence[Greeted], told: Told) -> Reported:
        del told
        return Reported(scores=tuple(_score(one) for one in counts))

    def changes(self, counts: Sequence[Greeted], former: Former) -> Iterator[Moves]:
        for one in counts:
            moved = Tallness(one).change_from(former)
            if moved is not None:
                yield Moves([(_change(one, moved.estimate), moved.estimate)])

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        counts = [(one.name, each) for one in contenders for each in one.counts if isinstance(each, Greeted)]
        entrants = []
        for name, each in counts:
            one = Tallness(each)
            found = one.estimate
            ends = found.lower(BEYOND), found.upper(BEYOND)
            entrants.append(Entrant(name, found, *ends, one.cells[0], one.cells, one.needed))
        gaps = {
            (one, other): Gap(Grown(Tallness(first), Tallness(second)).estimate)
            for (one, first), (other, second) in combinations(counts, 2)
        }
        if gaps:
            yield Contest("hello", "greeting", None, "size", TALLNESS, entrants, gaps)

    def recommended(
        self, checklist: Greetings, sampling: Sampling, *, baseline: bool
    ) -> Iterator[Expression]:
        del checklist, sampling, baseline
        yield Expression("tallness", (), "<= 0.80")

    def subjects(self, counts: Greeted) -> Iterator[tuple[Hashable, str, str]]:
        yield counts.model, "greetings", "size"


def _score(one: Greeted) -> Score:
    found = Tallness(one).estimate
    return Score(one.model, one.checklist, "greeting", None, "size", "tallness", found.plugin, found.n)


def _change(one: Greeted, moved: Estimate) -> Change:
    ends = moved.lower(), moved.upper()
    return Change(
        one.model, one.checklist, "greeting", None, "size", "tallness", None, None, None, moved.corrected,
        *ends, 0.0, moved.n,
    )  # fmt: skip


MEASURING = Measured()

GREETINGS = Protocol(
    name="greetings",
    checklist=Greetings,
    files=lambda: FILES,
    cases=cases,
    queries=queries,
    notices=lambda checklist, _: (f"{checklist.name} is short",),
    measuring=lambda: MEASURING,
)


@pytest.fixture(autouse=True)
def third(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(PROTOCOLS, GREETINGS.name, GREETINGS)
    (tmp_path / "hello.yaml").write_text(HELLO, encoding="utf-8")


def test_from_file_to_queries(tmp_path: Path) -> None:
    hello = protocols.load("hello.yaml", truth="true", base=tmp_path)
    assert hello.attribute("size").words == {"tall": "tall", "short": "short"}
    found = protocols.cases(hello, SAMPLING)
    assert [(case.id, case.samples, case.marks) for case in found] == [
        ("morning", 3, ("greeting", "size")),
        ("evening", 3, ("greeting", "size")),
    ]
    asked = protocols.queries(hello, found[1], SAMPLING)
    assert [(query.prompt, query.repeat) for query in asked] == [("Good evening!", n) for n in range(3)]
    assert protocols.notices(hello, SAMPLING) == ("hello is short",)


def test_overlays_and_style(tmp_path: Path) -> None:
    overlay = "extends: hello.yaml\nname: late\ngreetings:\n  night: {text: Good night}\n  morning: null\n"
    (tmp_path / "late.yaml").write_text(overlay, encoding="utf-8")
    late = protocols.load("late.yaml", truth="true", base=tmp_path)
    assert [case.id for case in protocols.cases(late, SAMPLING)] == ["evening", "night"]
    assert protocols.lint("hello.yaml", base=tmp_path) == ("hello.yaml:9: greetings.evening: is late",)


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
        protocols.load("hello.yaml", truth="true", base=tmp_path)
    assert str(caught.value) == message


def test_unknown_truth(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'hello' has no truth set 'false'; it has: true"):
        protocols.load("hello.yaml", truth="false", base=tmp_path)


def test_its_files_have_a_schema() -> None:
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
    return protocols.load("hello.yaml", truth="true", base=tmp_path)


def _counts(hello: Checklist, records: Sequence[Record], *models: str) -> tuple[Counts, ...]:
    cases = protocols.cases(hello, SAMPLING)
    found: tuple[Counts, ...] = of_checklist(hello).count(
        records, hello, cases, models=models or ("m",), sampling=SAMPLING
    )
    return found


def test_its_gates_are_checked_planned_and_judged(hello: Checklist) -> None:
    """76 of 100 tall ones: Wilson's one-sided bounds at 5 % are .684 and .823."""
    gates = expand(["default", "tallness[hello] >= 0.5"], checklists=[hello], sampling=SAMPLING)
    assert [gate.text for gate in gates] == ["tallness <= 0.80", "tallness[hello] >= 0.5"]
    nothing = _counts(hello, ())
    check(gates, nothing)
    with pytest.raises(InputError, match=r"^gate 'tallness\[noon\] >= 0.5': nobody is greeted noon$"):
        check([parse("tallness[noon] >= 0.5")], nothing)
    with pytest.raises(InputError, match="no checklist of this run has the metric s_fact"):
        check([parse("s_fact >= 0.5")], nothing)
    (foreseen,) = selected(gates[0], nothing, CORRECTED)
    assert foreseen.detectable(0.8, regression=False, n=100, bound=1.645) == pytest.approx(
        2.4866 * 0.04, abs=1e-4
    )
    counts = _counts(hello, _greeted(76, 24))
    close, high = judge(gates, counts, incomplete=None)
    assert (close.judgement, close.subject) == ("inconclusive", "tallness[hello]")
    assert (high.judgement, high.reason) == ("passed", "0.760 (0.683 to 0.823) is at least 0.50")
    assert unjudged([], counts, report(counts, Told()).scores) == ("answers in greetings", "tallness")
    (lossy,) = judge(gates[1:], _counts(hello, _greeted(40, 10, 50)), incomplete=None)
    assert lossy.judgement == "inconclusive"
    assert "50.0% of the answers in greetings are missing" in lossy.reason


def test_it_is_compared_with_its_former_self_and_with_others(hello: Checklist) -> None:
    former = Former(_counts(hello, _greeted(90, 10)), _greeted(90, 10), _greeted(60, 40))
    counts = _counts(hello, _greeted(60, 40))
    gate = parse("regression(tallness) >= -0.02")
    (verdict,) = judge([gate], counts, incomplete=None, terms=Terms(former=former))
    assert (verdict.judgement, verdict.name) == ("failed", "regression-tallness-hello")
    (change,) = changes(counts, former)
    assert change.regressed
    assert change.change == pytest.approx(-0.3)
    (board,) = boards([Contender("new", counts), Contender("old", former.counts)])
    assert [(one.rank, one.model, one.letters) for one in board.standings] == [
        (1, "old", "a"), (2, "new", "b"),
    ]  # fmt: skip


def test_a_former_report_of_it_is_counted_again(hello: Checklist) -> None:
    report = Baseline("old.json", {"models": {"m": {}}}, (), _greeted(90, 10, 5), ())
    asked = [(hello, protocols.cases(hello, SAMPLING))]
    (old,) = report.former(_greeted(60, 40), asked).counts
    assert isinstance(old, Greeted)
    assert (old.tall, old.answered, old.asked) == (90, 100, 105)
