"""A benchmark: one class, from which the shipped benchmarks and those of users derive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Generic

from pytest_factorfair.benchmarks.asking import (
    AS_WE_DO,
    CaseT,
    ChecklistT,
    Conditions,
    DepictedPerson,
    Importer,
    PublishedSetup,
    Situation,
)
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    CountsT,
    Estimation,
    Measurement,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Coverable,
    Expression,
    GateSet,
    ReportInputs,
    plain_values,
)
from pytest_factorfair.benchmarks.metric import Metric, with_variants
from pytest_factorfair.benchmarks.reporting import RightAnswer
from pytest_factorfair.domain import (
    ALL,
    Answer,
    Case,
    CaseKey,
    Declining,
    Query,
    Record,
    Reported,
    ReportRows,
    Sampling,
    SavedCounts,
    Score,
    Summary,
    plural,
)
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Charts, Figure
from pytest_factorfair.drawing.statements import among, per_case
from pytest_factorfair.drawing.table import Row, Table, interval, number, span

if TYPE_CHECKING:
    from pytest_factorfair.checklist.loading import Files


class Benchmark(ABC, Generic[ChecklistT, CaseT, CountsT]):
    """A benchmark in one class: what it asks, how answers are measured, and what it prints.

    It must say how its files are read, its cases and their queries, how answers are counted, and its scores.
    What gates judge, changes since a baseline, comparisons, plans and reports follow from the scores. A
    method may be a function of another module: ``cases = staticmethod(cases)``.

    ``printed`` are the metrics that reports compare, by default all but rates of lost answers. ``further``
    ones are compared, too, but tables of changes list them only where they got worse.
    ``diagnostics`` are the headings and metrics, by the name of a row, of figures that explain answers or
    count missing ones, and ``diagnosed`` describes these figures. ``piece`` names a part of a score's
    change, in singular and irregular plural. ``assets`` is the package whose ``page.html`` and ``page.js``
    draw its part of the HTML page. It prints nothing for a summary without its scores.
    """

    name: str
    """The ``protocol`` of its checklists."""
    checklist: type[ChecklistT]
    """The class of its checklists."""
    counts: type[CountsT] | None = None
    """The class of its counts, a dataclass of plain values, if reports are to contain them.

    Then ``factorfair compare`` does not count answers again, which needs the checklist's file. A benchmark
    whose counts follow from other rows of its reports overrides ``saved`` instead.
    """
    counts_probabilities: bool = False
    """Whether its counts use the probabilities of letters, so that a run may ask for them."""
    counts_copies: bool = False
    """Whether it counts the repeated answers of deterministic models, which say nothing new to others."""
    counts_every_face: bool = False
    """Whether its scores need all faces of a picture, which some detectors do not give."""
    published: PublishedSetup = AS_WE_DO
    """How the pictures of its paper were made and read."""

    unit: str = "answers"
    """The unit of the sizes in a plan: "answers per topic"."""
    comparison: str = ""
    """How to compare the runs NEW and OLD if its scores do not; empty if they do."""
    unsaved: tuple[str, ...] = ()
    """Compared metrics that need counts which reports do not contain."""
    one_context: str = ""
    """The part whose scores boards show in its first context only, where they exist there."""
    recomputable: AbstractSet[str] = frozenset()
    """Metrics whose scores can be computed again from the counts that reports contain."""
    metrics: Mapping[str, Metric]
    """The metrics that gates judge, by name, each declared once."""
    rows: tuple[ReportRows[Any], ...] = ()
    """The rows that it adds to reports besides scores; ``report`` fills them."""
    diagnosed: str = ""
    piece: tuple[str, str] = ("part", "")
    assets: str = ""

    # What it asks: the same on every machine.

    @abstractmethod
    def files(self) -> Files[Any, ChecklistT]:
        """How its files are read; a process that receives a checklist does not need it."""

    @abstractmethod
    def cases(self, checklist: ChecklistT, sampling: Sampling) -> tuple[CaseT, ...]:
        """The cases in the order of the checklist."""

    @abstractmethod
    def queries(self, checklist: ChecklistT, case: CaseT, sampling: Sampling) -> tuple[Query, ...]:
        """The queries of a case, in the order in which they are asked."""

    def question(self, case: CaseT) -> str:
        """What a case asks besides its options, if that is the same in all its queries; otherwise empty.

        Replies that another tool has logged are matched by it, whatever its template and order of options.
        """
        del case
        return ""

    def notices(self, checklist: ChecklistT, sampling: Sampling) -> tuple[str, ...]:
        """One line for every size that was adjusted."""
        del checklist, sampling
        return ()

    def situation(self, checklist: ChecklistT, query: Query) -> Situation | tuple[DepictedPerson, ...] | None:
        """The situation that a simulated respondent sees in a query; None if it cannot tell."""
        del checklist, query
        return None

    def conditions(self, checklist: ChecklistT) -> Iterable[Conditions]:
        """The words that may apply to a query, by condition, for each kind of query; by default per case."""
        every = self.cases(checklist, Sampling("balanced", samples=1, objective=1, seed=0))
        return tuple(case.words for case in every)

    def explained(self, checklist: ChecklistT, case: CaseT, sampling: Sampling) -> Query | None:
        """The query that asks for a choice with its reason, if the case has one."""
        del checklist, case, sampling
        return None

    def citable(self, checklist: ChecklistT) -> tuple[str, ...]:
        """The names of the statistics that a reason may cite."""
        del checklist
        return ()

    def importers(self) -> Mapping[str, Importer]:
        """The importers of other benchmarks' published files, by format."""
        return {}

    # How answers are measured.

    @abstractmethod
    def count(
        self,
        records: Iterable[Record],
        checklist: Any,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[CountsT, ...]:
        """Count the answers to these cases of a checklist, model by model; records of others are ignored."""

    @abstractmethod
    def scores(self, counts: CountsT, estimation: Estimation) -> Iterator[Measurement]:
        """A model's scores, in the order of reports: what gates judge, and on which models are compared.

        A benchmark in which these differ overrides ``compared``, too.
        """

    def compared(self, counts: CountsT) -> Iterator[Measurement]:
        """The scores on which models, or two runs, are compared."""
        for score in self.scores(counts, CORRECTED):
            if score.metric.changes and not score.metric.counts_losses:
                yield score

    def common(self, counts: Mapping[str, CountsT]) -> Mapping[str, CountsT]:
        """The counts of several models, by model, restricted to what all of them were asked."""
        return counts

    def saved(self, report: Mapping[str, Any], records: Sequence[Record] = ()) -> tuple[CountsT, ...]:
        """The counts that a report contains; ``records`` are its answers, which comparisons pair."""
        del records
        rows = [row["values"] for row in report.get("counts", ()) if row["benchmark"] == self.name]
        return tuple(map(plain_values(self.counts, self.name).validate_python, rows)) if rows else ()

    def report(self, counts: Sequence[CountsT], inputs: ReportInputs) -> BenchmarkReport:
        """The rows of a report on these counts."""
        scores = (score for model_counts in counts for score in self.scores(model_counts, inputs.estimation))
        codec = plain_values(self.counts, self.name) if self.counts else None
        saved = (
            SavedCounts(model_counts.model, self.name, codec.dump_python(model_counts, mode="json"))
            for model_counts in counts
            if codec is not None
        )
        return BenchmarkReport(scores=tuple(score.row() for score in scores), counts=tuple(saved))

    def recommended(
        self, checklist: Any, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        """The gates of a recommended set."""
        return iter(())

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """The topics on which a case can be asked for more answers; none if there are no further looks.

        By default the case is its only topic: with more samples, its queries must begin with those for fewer.
        """
        yield (case.id,)

    def coverage(self, counts: CountsT) -> Iterator[Coverable]:
        """The answers that gates can cover."""
        for score in self.scores(counts, CORRECTED):
            for key in score.covers:
                context = score.score_key.context or score.score_key.part
                yield Coverable(key, "answers", context, score.score_key.attribute)

    # What it prints.

    @property
    def printed(self) -> Mapping[str, Metric]:
        return {name: metric for name, metric in self.metrics.items() if not metric.counts_losses}

    @property
    def further(self) -> Mapping[str, Metric]:
        return {name: metric for name, metric in with_variants(self.metrics).items() if metric.further}

    @property
    def diagnostics(self) -> Mapping[str, tuple[str, Metric]]:
        return {}

    def heading(self, metric: str) -> str:
        """The label of a metric, or its name if reports do not compare it."""
        compared = {**self.further, **self.printed}
        return compared[metric].label if metric in compared else metric

    def label(self, metric: str, part: str, context: str | None) -> str:
        """A metric with what distinguishes its scores, such as the context if there is one."""
        return f"{self.heading(metric)}, {context}" if context else self.heading(metric)

    def size(self, summary: Summary) -> str:
        """The size of the run in a few words."""
        return f"{plural(per_case(summary), 'answer')} per case"

    def headlines(self, summary: Summary) -> Iterable[str]:
        """A model in a few numbers, a line each."""
        return ()

    def brief(self, summary: Summary) -> Table | None:
        """The scores of whole parts in a few rows, a model and attribute each; None if it has none.

        An attribute has a row for each part if a metric has scores of several.
        """
        scores = [score for score in summary.scores if score.metric in self.printed and score.context is None]
        parts: dict[tuple[str, str], set[str]] = {}
        for score in scores:
            parts.setdefault((score.attribute, score.metric), set()).add(score.part)
        divided = {attribute for (attribute, _), of_metric in parts.items() if len(of_metric) > 1}
        cells: dict[str, dict[str, Score]] = {}
        for score in scores:
            about = score.attribute
            if about == ALL:
                about = score.part
            elif about in divided:
                about = f"{score.part} {about}"
            cells.setdefault(" ".join((*among(summary, score), about)), {})[score.metric] = score
        shown = [name for name in self.printed if any(name in row for row in cells.values())]
        headings = tuple(self.heading(name) for name in shown)
        rows = (Row(label, tuple(interval(row.get(name)) for name in shown)) for label, row in cells.items())
        return Table("scores", headings, tuple(rows)) if cells else None

    def tables(self, summary: Summary) -> Iterable[Table]:
        """The scores, as the terminal, Markdown and HTML show them: a row for each model and score."""
        scores = [score for score in summary.scores if score.metric in self.printed]
        for checklist in dict.fromkeys(score.checklist for score in scores):
            rows = tuple(
                Row(
                    f"{score.model} {self.label(score.metric, score.part, score.context)}",
                    (number(score.shown), span(score.low, score.high), f"{score.n:,}"),
                )
                for score in scores
                if score.checklist == checklist
            )
            yield Table(checklist, ("score", "95 % interval", "answers"), rows)

    def supplements(self, summary: Summary) -> Iterable[Table]:
        """Tables of figures besides scores, which help to read the scores."""
        return ()

    def warnings(self, summary: Summary) -> Iterable[str]:
        """What readers must know before they read scores, such as a part without a single answer."""
        return ()

    def declining(self, reported: Reported) -> Iterable[Declining]:
        """How many judgements models declined that count as neutral."""
        return ()

    def quotations(self, summary: Summary) -> Iterable[str]:
        """Replies of models, so that readers can judge how they were counted."""
        return ()

    def paper_tables(self, entries: Sequence[Entry]) -> Iterable[Table | Omission]:
        """The paper's tables for the entries of one checklist."""
        return ()

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterable[Figure | Omission]:
        """The paper's figures for the entries of one checklist."""
        return ()

    def charts(self, entries: Sequence[Entry]) -> Charts | None:
        """The charts of a comparison's page for these models, besides their scores."""
        return None

    def over_time(self, score: Score) -> bool:
        """Whether a model's history shows the score, in its first context."""
        return score.metric in self.printed

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        """The values that the script of the HTML page draws, by name."""
        return {}

    def reply_place(self, case: Case) -> Mapping[str, Any] | None:
        """The place on the page for the replies to a case; None for the list at the end."""
        return None

    def reply_conditions(self, case: Case, answer: Answer) -> Mapping[str, str]:
        """The values of a question's conditions, by name, if the page divides replies by them."""
        return {}

    def on_card(self, score: Score) -> bool:
        """Whether a model card lists the score."""
        return score.metric in self.printed

    def right_answers(self, summary: Summary) -> Mapping[CaseKey, Sequence[RightAnswer]]:
        """The right answers to the cases that have any, as far as a report holds them."""
        return {}

    def true_groups(self, summary: Summary, record: Record, case: Case) -> Mapping[str, str]:
        """The true group of a case by attribute, where facts tell."""
        return {}

    def limits(self, summary: Summary) -> Iterable[str]:
        """The limits of the scores in the summary, a line each."""
        return ()

    def reading(self, summary: Summary) -> Iterable[str]:
        """How to read the scores that a card lists, a line each."""
        used = {score.metric for score in summary.scores if score.value is not None and self.on_card(score)}
        return (
            f"{metric.label}: {metric.reading}"
            for name, metric in self.printed.items()
            if name in used and metric.reading
        )


class UnknownBenchmark(Benchmark[Any, Any, Any]):
    """The benchmark of a report's scores that nobody added to this process: they have names, but no words."""

    name = ""
    metrics: Mapping[str, Metric] = {}

    def unavailable(self, *arguments: object, **named: object) -> Any:
        raise LookupError("an unknown benchmark only prints")

    files = cases = queries = count = scores = unavailable


UNKNOWN = UnknownBenchmark()
