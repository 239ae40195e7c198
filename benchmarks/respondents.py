"""Judge simulated respondents by the gate sets: whole runs of up to four looks, simulated with arrays.

``benchmarks.gates`` prints the results. The probabilities of the letters of each query are computed once per
respondent, from the simulated model's closed form; runs draw from them. Counting, scores, gates and looks are
those of real runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from math import inf
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair import benchmarks, models
from pytest_factorfair import gates as gating
from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.benchmarks.combined import topic_keys
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import AnswerArrays, by_group, summed
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import FirstAnswers
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import TallyAnswers, TallyBuilder, tally_keys
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import ChosenCells, Tally
from pytest_factorfair.benchmarks.first_look import FirstLook
from pytest_factorfair.benchmarks.measuring import GateSet
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.domain import DIRECTIONS, Gate, Outcome, Query, Verdict
from pytest_factorfair.gates.levels import BOUNDARIES
from pytest_factorfair.models.simulated.respondent import Respondent, chances
from pytest_factorfair.runs.looks import settle, unreleasable

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

SEED = 20261124
SETS: tuple[GateSet, ...] = ("default", "lenient")
LOOKS = 4
LETTERS = 4
REFUSED, UNREAD = LETTERS, LETTERS + 1


class Weights(NamedTuple):
    """What a respondent does with a question: weights of its letters, and chances of not answering."""

    letters: Mapping[str, float]
    refused: float = 0.0
    unparsed: float = 0.0


Behaviour: TypeAlias = Callable[[TopicCase, Situation], Weights]
"""A respondent as a function of the design of a question, for behaviour that no ``sim:`` spec has."""


class Questions:
    """All queries of a run with preset ``ci`` and four looks; those of a case are in the order of asking."""

    def __init__(self) -> None:
        preset = PRESETS["ci"]
        self.sampling = preset.sampling
        self.checklist = cast("FactOrFair", benchmarks.load("fact_or_fair", truth=preset.truth, base=Path()))
        self.cases = cast("tuple[TopicCase, ...]", benchmarks.cases(self.checklist, self.sampling))
        all_looks = self.sampling.times(LOOKS)
        larger = {case.id: case for case in benchmarks.cases(self.checklist, all_looks)}
        asked: list[Query] = []
        owners: list[int] = []
        looks: list[int] = []
        for number, case in enumerate(self.cases):
            queries = benchmarks.queries(self.checklist, larger[case.id], all_looks)
            asked += queries
            owners += [number] * len(queries)
            looks += [position // case.samples for position in range(len(queries))]
        self.queries, self.owner, self.look = asked, np.array(owners), np.array(looks)
        benchmark = benchmarks.benchmark_of(self.checklist)
        self.situations = [
            cast("Situation", benchmark.situation(self.checklist, query)) for query in self.queries
        ]
        self.pages = [
            Page(self, TallyBuilder(self.checklist, tally_key, statistics, self.sampling))
            for tally_key, statistics in tally_keys(self.checklist, self.cases, [""])
        ]
        self.first = {
            part: np.flatnonzero(
                (self.look == 0) & np.array([c.part == part for c in self.cases])[self.owner]
            )
            for part in ("subjective", "objective")
        }
        self.topic_keys = [topic_keys("", self.checklist, case) for case in self.cases]
        # All gate sets judge a respondent in turn.
        self.chances = lru_cache(maxsize=1)(partial(Chances, self))

    def first_answers(self, outcomes: Ints) -> FirstAnswers:
        """The answers of the first look, from the outcome of each query."""
        return SimulatedAnswers(self, outcomes)

    def gates(self, name: GateSet) -> tuple[Gate, ...]:
        return gating.expand([name], checklists=[self.checklist], sampling=self.sampling)


class SimulatedAnswers(FirstAnswers):
    """The answers of a first look, from the outcome of each query."""

    asked = True

    def __init__(self, questions: Questions, outcomes: Ints) -> None:
        super().__init__(questions.checklist, questions.cases, questions.sampling)
        self._first, self._outcomes = questions.first, outcomes

    @cached_property
    def look(self) -> FirstLook:
        return self._look("subjective")

    @cached_property
    def look_at_facts(self) -> FirstLook:
        return self._look("objective")

    def _look(self, part: str) -> FirstLook:
        outcome = self._outcomes[self._first[part]]
        answered = outcome < LETTERS
        return FirstLook(
            np.eye(LETTERS + 2)[outcome][:, :LETTERS], np.where(answered, 0, outcome - LETTERS + 1)
        )


class Chances:
    """A respondent's cumulative probabilities of each query's outcomes: the letters, a refusal, and nonsense.

    They are computed when they are first asked for, as few runs take all looks at all cases.
    """

    def __init__(self, questions: Questions, respondent: str | Behaviour) -> None:
        self._questions = questions
        if isinstance(respondent, str):
            model = models.build(respondent, {}, checklists=(questions.checklist,), custom={})
            respondent = partial(_of_model, cast("Respondent", model))
        self._behaviour: Behaviour = respondent
        self._rows = np.full((len(questions.queries), LETTERS + 2), np.nan)

    def of(self, used: Bools) -> Floats:
        """The rows of the queries that are ``used``; others may be undefined."""
        for number in np.flatnonzero(used & np.isnan(self._rows[:, 0])):
            case, situation = self._questions.queries[number].case, self._questions.situations[number]
            weights, refused, unread = self._behaviour(cast("TopicCase", case), situation)
            scale = (1 - refused - unread) / (sum(weights.values()) or 1.0)
            letters = [scale * weights.get(letter, 0.0) for letter in situation.letters]
            row = [*letters, *[0.0] * (LETTERS - len(letters)), refused, unread]
            self._rows[number] = np.cumsum(row)
        return self._rows


def _of_model(model: Respondent, case: TopicCase, situation: Situation) -> Weights:
    """The closed form of a simulated model."""
    letters, refused, unread = chances(situation, model.knowledge.in_force(case, situation))
    return Weights(letters, refused, unread)


class Page:
    """The queries of a tally, with everything that does not depend on the answers."""

    def __init__(self, questions: Questions, builder: TallyBuilder) -> None:
        self.builder = builder
        key, name, k = builder.key, builder.attribute.name, builder.attribute.k
        queries = [
            (number, query, case)
            for number, (query, owner) in enumerate(zip(questions.queries, questions.owner, strict=True))
            for case in [questions.cases[owner]]
            if (case.part, case.context) == (key.part, key.context) and name in case.attributes
        ]
        self.numbers = np.array([number for number, _, _ in queries])
        self.row = np.array([builder.rows[case.statistic] for _, _, case in queries])
        self.column = np.array([DIRECTIONS.index(case.direction) for _, _, case in queries])
        self.scenario = np.array(
            [-1 if case.scenario is None else case.scenario - 1 for _, _, case in queries]
        )
        backgrounds = [query.background.get(name) for _, query, _ in queries]
        self.named = np.array([-1 if group is None else builder.groups[group] for group in backgrounds])
        offered = [
            {name: tuple(option.groups[name] for option in query.options) for name in query.options[0].groups}
            for _, query, _ in queries
        ]
        lineups = [builder.lineup(tuple(groups.items())) for groups in offered]
        self.groups = np.array([lineup.groups for lineup in lineups])
        values = [
            builder.values(int(scenario), int(named), query.options[0].age, lineup.first)
            for scenario, named, (_, query, _), lineup in zip(
                self.scenario, self.named, queries, lineups, strict=True
            )
        ]
        self.conditions = tuple(np.array(column) for column in zip(*values, strict=True))
        self.crossing = tuple(map(np.array, zip(*(lineup.crossing for lineup in lineups), strict=True)))
        self.features: dict[str, tuple[tuple[str, ...], Ints]] = {}
        for kind, feature_values in builder.features.items():
            numbers = {value: number for number, value in enumerate(feature_values)}
            shown = [
                [numbers[option.words[0] if kind == "name" else str(option.age)] for option in query.options]
                for _, query, _ in queries
            ]
            self.features[kind] = feature_values, np.array(shown)
        self.k = k
        # Whether declining counts as neutral.
        self.judged = key.part == "subjective" and questions.sampling.declines == "neutral"

    def tally(self, used: Bools, outcomes: Ints, first_answers: FirstAnswers | None) -> Tally:
        """Count the queries that are ``used``, from the outcome of each query."""
        asked = used[self.numbers]
        outcome = outcomes[self.numbers]
        letters = self.groups.shape[-1]
        neutral = asked & (outcome == REFUSED) & self.judged
        answered = asked & (outcome < LETTERS) | neutral
        shares = np.vstack([np.eye(letters), np.full((LETTERS + 1 - letters, letters), 1 / letters)])
        answers = self._answers(answered, shares[outcome[answered]])
        lost_outcomes: dict[Outcome, Bools] = {
            "refused": outcome == REFUSED,
            "unparsed": outcome == UNREAD,
            "error": np.zeros(len(outcome), np.bool_),
        }
        lost = {name: asked & missing & ~neutral for name, missing in lost_outcomes.items()}
        return self.builder.tally(
            TallyAnswers(
                answers,
                {name: self._answers(mask, np.zeros((mask.sum(), 0))) for name, mask in lost.items()},
                self._answers(neutral, np.full((neutral.sum(), letters), 1 / letters)),
                self._answers(asked, np.zeros((asked.sum(), 0))).number(np.zeros(self.builder.shape)),
                np.zeros(self.builder.shape, np.int64),
                {
                    kind: self._chosen(feature_values, shown[answered], answers)
                    for kind, (feature_values, shown) in self.features.items()
                },
            ),
            first_answers=first_answers,
        )

    def _answers(self, mask: Bools, shares: Floats) -> AnswerArrays:
        """The answers to some queries as arrays; lost answers have no shares."""
        groups = self.groups[mask][:, : shares.shape[-1]]
        return AnswerArrays(
            cells=(self.row[mask], self.column[mask]),
            scenario=self.scenario[mask],
            named=self.named[mask],
            groups=groups,
            shares=shares,
            outside=np.zeros(len(groups)),
            times=np.ones(len(groups)),
            votes=by_group(shares, groups, self.k),
            noise=np.zeros(len(groups)),
            conditions=tuple(values[mask] for values in self.conditions),
            crossing=tuple(at_letters[mask] for at_letters in self.crossing),
        )

    def _chosen(self, values: tuple[str, ...], shown: Ints, answer_arrays: AnswerArrays) -> ChosenCells:
        """How often each value was chosen, and how often a random choice would have chosen it."""
        alike = (shown[:, :, None] == shown[:, None, :]).mean(axis=-1)  # the share of people with the value
        fair = np.full(shown.shape, 1 / shown.shape[1])
        frequencies = np.stack([answer_arrays.shares, fair, fair * (1 - alike)], axis=-1)
        index = np.broadcast_arrays(*(axis[:, None] for axis in answer_arrays.cells), shown)
        return ChosenCells(
            values, summed(index, frequencies, np.zeros((*self.builder.shape, len(values), 3)))
        )


class Course(NamedTuple):
    """A simulated run: its release verdict after each look, its calls, and its first and last verdicts."""

    states: tuple[str, ...]
    calls: int
    first_verdicts: Mapping[str, Verdict]
    last_verdicts: Mapping[str, Verdict]


def course(questions: Questions, chances: Chances, gates: Sequence[Gate], seed: Sequence[int]) -> Course:
    """Simulate a run, and judge it look by look; only undecided gates get more answers."""
    generator = np.random.default_rng(seed)
    draws = generator.random((len(questions.queries), 1))
    level = np.ones(len(questions.cases), np.int64)
    settled: dict[str, Verdict] = {}
    states: list[str] = []
    tallies: list[Tally | None] = [None] * len(questions.pages)
    first_verdicts: dict[str, Verdict] = {}
    bought = np.ones(len(level), np.bool_)
    for look, bound in enumerate(BOUNDARIES[LOOKS], start=1):
        used = questions.look < level[questions.owner]
        outcomes = (draws >= chances.of(used)[:, :-1]).sum(axis=-1)
        if look == 1:
            first_answers = questions.first_answers(outcomes)
        for number, page in enumerate(questions.pages):
            if bought[questions.owner[page.numbers]].any():
                tallies[number] = page.tally(used, outcomes, first_answers)
        terms = gating.Terms(alpha=1 - NormalDist().cdf(bound))
        counts = cast("list[Tally]", tallies)
        rulings = gating.rule(gates, counts, terms)
        undecided_topics = settle(rulings, settled)
        last_verdicts = {
            ruling.verdict.name: settled.get(ruling.verdict.name, ruling.verdict) for ruling in rulings
        }
        first_verdicts = first_verdicts or last_verdicts
        judgements = {verdict.judgement for verdict in last_verdicts.values()}
        undecided = "passed" if judgements == {"passed"} else "undecided"
        states.append("failed" if "failed" in judgements else undecided)
        bought = np.array([not undecided_topics.keys().isdisjoint(topics) for topics in questions.topic_keys])
        if not bought.any() or unreleasable(rulings, settled):
            break
        if look < LOOKS:
            level[bought] = look + 1
    states += states[-1:] * (LOOKS - len(states))
    samples = np.array([case.samples for case in questions.cases])
    return Course(tuple(states), int((samples * level).sum()), first_verdicts, last_verdicts)


Must = Literal["pass", "late", "limit", "never", "-"]
"""What is required of a respondent; ``respondents.tsv`` says what the words mean."""


class Model(NamedTuple):
    """A simulated respondent of a section of ``respondents.tsv``."""

    must: Must
    label: str
    spec: str
    section: str


def respondents() -> Iterator[Model]:
    section = ""
    for line in Path(__file__).with_suffix(".tsv").read_text().splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        else:
            must, label, spec = line.split("\t")
            yield Model(cast("Must", must), label, spec, section)


FAIR = ("pass", "late")
PASSING = 0.95
MOST_FAILED = {"pass": 0.01, "late": 0.01, "limit": 0.05}
"""The largest share of runs that may fail, by requirement."""

MOST_CALLS = {"fair": 1.1 * 15_682, "noisy": 1.2 * 22_289}
"""The calls of a run with ``default`` before it judged conditions, and the factor that is allowed now."""

HEAD = (
    f"{'gates':<9}{'respondent':<50}{'runs':>5}"
    + "".join(f"{f'look {look}: +':>11}{'-':>5}" for look in range(1, LOOKS + 1))
    + f"{'undecided':>10}{'calls':>8}  caught by (value at look 1; bounds at the end; runs failed, undecided)"
)


class Row(NamedTuple):
    """The runs of a respondent: the shares that had passed and failed by each look, and the mean calls.

    ``caught`` names the gates that failed to pass most often.
    """

    gates: GateSet
    model: Model
    runs: int
    passed: tuple[float, ...]
    failed: tuple[float, ...]
    calls: float
    caught: str

    @property
    def held(self) -> bool:
        """Whether the respondent meets its requirement for the gate set."""
        must = self.model.must
        if must not in FAIR and self.gates != "default":
            return True
        if must == "never":
            return self.passed[-1] == 0
        passed = self.passed[1 if must == "pass" else -1]
        return (
            self.failed[-1] <= MOST_FAILED.get(must, 1.0)
            and (must not in FAIR or passed >= PASSING)
            and self.calls <= MOST_CALLS.get(self.model.label, inf)
        )

    def __str__(self) -> str:
        looks = "".join(
            f"{passed:>11.1%}{failed:>7.1%}"[2:]
            for passed, failed in zip(self.passed, self.failed, strict=True)
        )
        undecided = 1 - self.passed[-1] - self.failed[-1]
        note = "" if self.held else "  <- not held"
        return (
            f"{self.gates:<9}{self.model.label:<50}{self.runs:>5}{looks}{undecided:>10.1%}{self.calls:>8,.0f}"
            f"  {self.caught}{note}"
        )


def row(questions: Questions, gates: GateSet, model: Model, runs: int) -> Row:
    """Simulate and judge ``runs`` runs; reproducible."""
    chances, expressions = questions.chances(model.spec), questions.gates(gates)
    courses = [course(questions, chances, expressions, (SEED, number)) for number in range(runs)]
    by_look = list(zip(*(run.states for run in courses), strict=True))
    passed, failed = (
        tuple(states.count(state) / runs for states in by_look) for state in ("passed", "failed")
    )
    return Row(gates, model, runs, passed, failed, fmean(run.calls for run in courses), caught(courses))


def caught(courses: Sequence[Course]) -> str:
    """Describe the gates that did not pass, beginning with those that failed most often."""
    names = dict.fromkeys(name for run in courses for name in run.last_verdicts)
    ends = {name: Counter(run.last_verdicts[name].judgement for run in courses) for name in names}
    missed = sorted(
        (name for name in names if ends[name]["passed"] < len(courses)),
        key=lambda name: (-ends[name]["failed"], ends[name]["passed"]),
    )
    parts = []
    for name in missed[:SHOWN]:
        value = fmean(run.first_verdicts[name].value or 0.0 for run in courses)
        low = fmean(run.last_verdicts[name].low or 0.0 for run in courses)
        high = fmean(run.last_verdicts[name].high or 0.0 for run in courses)
        counts = f"{ends[name]['failed']}, {len(courses) - ends[name]['failed'] - ends[name]['passed']}"
        subject, limit = courses[0].last_verdicts[name].subject, courses[0].last_verdicts[name].threshold
        parts.append(f"{subject} {value:.3f} for {limit:g} ({low:.3f} to {high:.3f}; {counts})")
    return ", ".join(parts) + (f" and {len(missed) - SHOWN} more" if len(missed) > SHOWN else "")


SHOWN = 2


def rows(
    questions: Questions,
    models: Iterable[Model],
    gate_set: GateSet | None = None,
    *,
    runs: int,
    runs_of_fair: int,
) -> Iterator[Row]:
    """Judge respondents by a gate set: without one, by ``default``, and those that must pass by every set."""
    for model in models:
        gate_sets = [gate_set] if gate_set else SETS if model.must in FAIR else SETS[:1]
        for gates in gate_sets:
            yield row(questions, gates, model, runs_of_fair if model.must in MOST_FAILED else runs)
