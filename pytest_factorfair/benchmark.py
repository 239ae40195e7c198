"""Everything that a benchmark of your own is made of: the one module that it imports.

A *metric* is declared once, with the sentences that explain its values:

    >>> from pytest_factorfair.benchmark import CaseCounts, Group, GroupCounts, Metric, Share, attribute
    >>> tallness = Metric(
    ...     name="tallness",
    ...     label="tallness",
    ...     question="how often is the tall one greeted?",
    ...     better="higher",
    ...     plain="it greets the tall one {amount} times in 100",
    ... )
    >>> tallness.in_words(0.75).sentence
    'it greets the tall one 75 times in 100'
    >>> tallness.meaning
    'How often is the tall one greeted? Higher is better.'

Its values rest on *counts*: plain values, one for each model. For answers that name groups of an attribute
there is a class:

    >>> groups = {"tall": Group(word="tall"), "short": Group(word="short", aliases=["small"])}
    >>> size = attribute("size", groups)
    >>> size.groups
    ('tall', 'short')
    >>> morning = CaseCounts({"tall": 30, "short": 10}, asked=42, refused=2, unparsed=0, errors=0)
    >>> counts = GroupCounts("greetings", "my-model", "hello", "greetings", size.name, {"morning": morning})

A *measurement* is the score of a model with its uncertainty and its lost answers. Derive one from
``Measurement`` for a score that is no share; for the share of a group there is a class:

    >>> score = Share(tallness, counts, "tall")
    >>> score.estimate.plugin, score.total.lost
    (0.75, 2)
    >>> score.if_missing(bounded=False)  # had both refusals greeted the short, or the tall
    ValueRange(value=0.75, low=0.7142857142857143, high=0.7619047619047619)

Queries are numbered drafts: a prompt, its options, and what its context names. More samples append queries:

    >>> from pytest_factorfair.benchmark import Case, Option, numbered
    >>> case = Case("morning", checklist="hello", part="greetings", attributes=("size",), samples=2)
    >>> tall = Option("A", "tall", ("tall",), {"size": "tall"})
    >>> short = Option("B", "short", ("short", "small"), {"size": "short"})
    >>> draft = ("Good morning! Whom do you greet? A: tall B: short", (tall, short), {})
    >>> [query.repeat for query in numbered([draft] * case.samples, case=case, seed=7)]
    [0, 1]

Figures besides scores are *rows*. ``Benchmark.rows`` declares them, ``report`` fills them, and what it prints
reads them from a summary:

    >>> from dataclasses import dataclass
    >>> from pytest_factorfair.benchmark import BenchmarkReport, ReportRows
    >>> @dataclass(frozen=True)
    ... class Greeted:
    ...     model: str
    ...     greeting: str
    ...     tall: int
    >>> GREETED = ReportRows("greeted", Greeted, key=("model", "greeting"))
    >>> GREETED.of(BenchmarkReport(rows={GREETED.name: (Greeted("my-model", "morning", 30),)}))
    (Greeted(model='my-model', greeting='morning', tall=30),)

A class derived from ``Benchmark`` joins these, and a hook adds an object of it to a run. The page *Your own
benchmark* of the documentation has a complete one.
"""

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.group_counts import CaseCounts, GroupCounts, Share
from pytest_factorfair.benchmarks.measurement import (
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    PieceName,
    TopicKey,
    ValueRange,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Expression,
    GateSet,
    ReportInputs,
    SelectedCounts,
)
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.checklist.fields import ChecklistHeader, Group, Layout, attribute, hashed
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.queries import Draft, numbered
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import (
    Case,
    CaseGroup,
    Checklist,
    Option,
    Query,
    Record,
    ReportRows,
    Sampling,
    Summary,
)
from pytest_factorfair.statistics.estimate import Estimate

__all__ = [
    "BaselineCounts",
    "Benchmark",
    "BenchmarkReport",
    "Case",
    "CaseCounts",
    "CaseGroup",
    "Cell",
    "Checklist",
    "ChecklistHeader",
    "Component",
    "Draft",
    "Estimate",
    "Estimation",
    "Expression",
    "Files",
    "GateSet",
    "Group",
    "GroupCounts",
    "Layout",
    "Measurement",
    "Metric",
    "Node",
    "Option",
    "PieceName",
    "Problem",
    "Query",
    "Record",
    "ReportInputs",
    "ReportRows",
    "Sampling",
    "ScoreKey",
    "SelectedCounts",
    "Share",
    "Situation",
    "Summary",
    "TopicKey",
    "ValueRange",
    "attribute",
    "hashed",
    "numbered",
]
