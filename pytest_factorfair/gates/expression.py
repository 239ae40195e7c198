"""Read the gates of a run: parse expressions, expand recommended sets, and check every gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import get_args

from pytest_factorfair.benchmarks import AnyBenchmark, benchmark_of, benchmarks
from pytest_factorfair.benchmarks.combined import by_benchmark, measure, metric_named, scope, selected
from pytest_factorfair.benchmarks.measurement import CORRECTED, Counts
from pytest_factorfair.benchmarks.measuring import GateSet, Scope, filter_words
from pytest_factorfair.benchmarks.metric import Sense
from pytest_factorfair.domain import Checklist, Comparison, Gate, Sampling, Selection, gate_parts, selection
from pytest_factorfair.errors import InputError, attributed, nearest

SETS: tuple[GateSet, ...] = get_args(GateSet)
REASONS = "reason"
COMPARISONS: tuple[Comparison, ...] = (">=", "<=")
EXAMPLE = "write it like s_fact[objective,gender] >= 0.80"
REGRESSION_EXAMPLE = "write it like regression(s_fact)[objective,gender] >= -0.02"

_NUMBER = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))\s*(?P<percent>%?)")


def parse(text: str) -> Gate:
    """A gate from its expression; the threshold may be a share or a percentage.

    Raises:
        InputError: one line with the expression, what is wrong in it, and what would be right.
    """
    expression = text.strip()
    parts = gate_parts(expression)
    if not parts.operator:
        advice = nearest(expression, SETS, listing=False) or f"; {EXAMPLE}, or {' or '.join(map(repr, SETS))}"
        raise InputError(f"gate '{expression}': no comparison with a threshold{advice}")
    comparison = next((comparison for comparison in COMPARISONS if comparison == parts.operator), None)
    if comparison is None:
        raise InputError(f"gate '{expression}': '{parts.operator}' is not a comparison; use >= or <=")
    metric, filters, regression = _selection(expression, parts.score)
    match = _NUMBER.fullmatch(parts.threshold)
    if match is None:
        raise InputError(
            f"gate '{expression}': threshold '{parts.threshold}' is not a number like 0.8, .8 or 80%"
        )
    threshold = float(f"{match['number']}e-2" if match["percent"] else match["number"])
    lowest, highest = bounds(metric, regression=regression)
    if not lowest <= threshold <= highest:
        likely = 2 <= threshold <= 100 and "%" not in expression  # noqa: PLR2004 - percent
        percent = f"; did you mean {threshold:g}%?" if likely else ""
        scale = f"{lowest:g} to {highest:g}"
        raise InputError(f"gate '{expression}': threshold {threshold:g} is outside {scale}{percent}")
    return Gate(expression, metric, filters, comparison, threshold, regression)


def bounds(metric: str, *, regression: bool) -> tuple[float, float]:
    """The lowest and highest value of a metric, or of its change since a baseline."""
    return (-1.0, 1.0) if regression else metric_named(metric).declared_range


def _selection(expression: str, score: str) -> Selection:
    """Parse the metric and the filters of a gate."""
    selected = selection(score)
    example = REGRESSION_EXAMPLE if score.startswith("regression") else EXAMPLE
    if selected is None:
        raise InputError(f"gate '{expression}': '{score}' is not metric[filter,...]; {example}")
    metric = selected.metric
    if metric in ("", "regression"):
        raise InputError(f"gate '{expression}': no metric before the comparison; {example}")
    if metric in SETS:
        raise InputError(f"gate '{expression}': '{metric}' is a set of gates with thresholds; write it alone")
    if metric.startswith(REASONS):
        raise InputError(
            f"gate '{expression}': what reasons cite is reported, never judged; "
            "gate what is chosen: s_e, s_kld or influence"
        )
    try:
        metric_named(metric)
    except InputError as error:
        raise InputError(f"gate '{expression}': {error}") from None
    if "" in selected.filters:
        raise InputError(f"gate '{expression}': an empty filter between the brackets; {EXAMPLE}")
    return selected


def expand(
    texts: Iterable[str], *, checklists: Sequence[Checklist], sampling: Sampling, baseline: bool = False
) -> tuple[Gate, ...]:
    """The gates of a run: each expression parsed, sets replaced by their gates.

    No gate is there twice, however it is spelled. ``baseline`` is whether there is a former run to compare
    with.

    Raises:
        InputError: an expression that does not parse, two sets, or a set for a checklist that is then judged
            by nothing but rates of lost answers.
    """
    declared = [text.strip() for text in texts]
    sets = [name for name in SETS if name in declared]
    if len(sets) > 1:
        raise InputError(f"gates '{sets[0]}' and '{sets[1]}': a run has one set of gates; keep one of them")
    gates = [
        gate
        for text in declared
        for gate in (
            recommended(text, checklists, sampling, baseline=baseline) if text in SETS else (parse(text),)
        )
    ]
    for name in sets:
        _refuse_rates_alone(name, gates, checklists, sampling, baseline=baseline)
    first_spellings = {gate.meaning: gate for gate in reversed(gates)}
    return tuple(gate for gate in dict.fromkeys(gates) if first_spellings[gate.meaning] == gate)


def recommended(
    name: GateSet, checklists: Sequence[Checklist], sampling: Sampling, *, baseline: bool = False
) -> tuple[Gate, ...]:
    """Return the gates of a set; see ``recommended`` of each benchmark.

    If there are several checklists, each gate names its own.
    """
    gates = []
    for checklist in checklists:
        prefix = (checklist.name,) if len(checklists) > 1 else ()
        benchmark = benchmark_of(checklist)
        with attributed(f"the recommended gates of checklist '{checklist.name}'"):
            expressions = tuple(benchmark.recommended(checklist, sampling, baseline=baseline, gates=name))
        for metric, filters, bound in expressions:
            words = ",".join((*prefix, *filters))
            gates.append(parse(f"{metric}[{words}] {bound}" if words else f"{metric} {bound}"))
    return tuple(gates)


def _refuse_rates_alone(
    name: GateSet,
    gates: Sequence[Gate],
    checklists: Sequence[Checklist],
    sampling: Sampling,
    *,
    baseline: bool,
) -> None:
    """Refuse a set in which nothing but rates of lost answers judges one of the checklists."""
    for checklist in checklists:
        benchmark = benchmark_of(checklist)
        other_names = {checklist.name for checklist in checklists} - {checklist.name}
        judged = {gate.metric for gate in gates if other_names.isdisjoint(gate.filters)}
        if any(not metric.counts_losses for word, metric in benchmark.metrics.items() if word in judged):
            continue
        compared = benchmark.recommended(checklist, sampling, baseline=True, gates=name)
        helps = not baseline and any(metric.startswith("regression") for metric, *_ in compared)
        advice = " without a former run; give --factorfair-baseline, or" if helps else "; give"
        raise InputError(
            f"gate '{name}': only rates of lost answers are recommended for '{checklist.name}'{advice} "
            "gates of your own beside it"
        )


def check(gates: Iterable[Gate], counts: Sequence[Counts], *, baseline: bool = False) -> None:
    """Refuse a gate that no score of this run can decide.

    ``counts`` are those of the run before it asks anything; ``baseline`` is whether there is a former run.

    Raises:
        InputError: an unknown filter word, a gate, or one word of it, that selects no score, or two gates
            that no score can pass.
    """
    declared = tuple(gates)
    for gate in declared:
        if gate.regression and not baseline:
            raise InputError(
                f"gate '{gate.text}': a regression needs a former report: give --factorfair-baseline FILE"
            )
        problems = [
            _problem(gate, benchmark, benchmark_counts)
            for benchmark, benchmark_counts in by_benchmark(counts)
            if gate.metric in benchmark.metrics
        ]
        if not problems:
            names = [name for name, benchmark in benchmarks().items() if gate.metric in benchmark.metrics]
            raise InputError(
                f"gate '{gate.text}': no checklist of this run measures {gate.metric}; checklists of the "
                f"benchmark {' or '.join(names)} do"
            )
        if None not in problems:
            raise InputError(f"gate '{gate.text}': {problems[0]}")
        for sense, gate_scope in _scopes(gate, counts):
            if gate_scope.beside and not gate_scope.named:
                words = ",".join((*gate.filters, gate_scope.beside[0]))
                raise InputError(
                    f"gate '{gate.text}' is meant for {sense.part} answers, and this run asks for none: "
                    f"{sense.elsewhere}; name what it should judge, such as {gate.metric}[{words}]"
                )
    for floor_gate, ceiling_gate in permutations(declared, 2):
        alike = (floor_gate.metric, floor_gate.regression) == (ceiling_gate.metric, ceiling_gate.regression)
        opposed = (floor_gate.comparison, ceiling_gate.comparison) == (">=", "<=")
        apart = opposed and floor_gate.threshold > ceiling_gate.threshold
        if alike and apart and (scores := _selected(floor_gate, counts) & _selected(ceiling_gate, counts)):
            score = f"{floor_gate.metric}[{','.join(min(scores)[1])}]"
            raise InputError(
                f"gates '{floor_gate.text}' and '{ceiling_gate.text}': no {score} can pass both; "
                "leave one of them out"
            )


def _selected(gate: Gate, counts: Sequence[Counts]) -> AbstractSet[tuple[str, tuple[str, ...]]]:
    """The model and words of each score that a gate judges."""
    return {(measurement.model, measurement.words) for measurement in selected(gate, counts, CORRECTED)}


def _problem(gate: Gate, benchmark: AnyBenchmark, counts: Sequence[Counts]) -> str | None:
    """Why a gate selects no score of such counts, and what would; None if it selects one."""
    metric, words, kinds = gate.metric, gate.filters, filter_words(counts)
    known_words = frozenset().union(*kinds.values())
    for word in words:
        if word not in known_words:
            return f"unknown filter '{word}'{nearest(word, known_words)}"
    if gate.regression and not benchmark.metrics[metric].changes:
        return f"the change of {metric} between two runs cannot be estimated; gate {metric} itself"

    def matching(*selected_words: str) -> AbstractSet[str]:
        return _matched_words(benchmark, metric, selected_words, counts)

    if not matching():
        asks = benchmark.metrics[metric].asks
        return f"this run does not measure {metric}" + (f", which needs {asks}" if asks else "")
    matched = matching(*words)
    if matched:
        unmatched = next((word for word in words if word not in matched), None)
        problem = (
            f"filter '{unmatched}' matches none of the {metric} scores that the others select; leave it out"
        )
        return None if unmatched is None else problem
    if len(words) == 1:
        alike = frozenset().union(*(kind_words for kind_words in kinds.values() if words[0] in kind_words))
        usable = sorted(filter(matching, alike)) or sorted(filter(matching, known_words))
        advice = f" in this run; these do: {', '.join(usable)}"
        owners = [name for name in benchmark.metrics if _matched_words(benchmark, name, words, counts)]
        if len(owners) == 1:
            advice = f"; it selects those of {owners[0]}"
        return f"filter '{words[0]}' selects no {metric} score{advice}"
    named = " and ".join(f"'{word}'" for word in words)
    fewer = [
        f"'{word}'" for word in words if matching(*(other_word for other_word in words if other_word != word))
    ]
    advice = f"; leave out {' or '.join(fewer)}" if fewer else ""
    return f"filters {named} select no {metric} score in this run{advice}"


def _matched_words(
    benchmark: AnyBenchmark, metric: str, words: Sequence[str], counts: Sequence[Counts]
) -> AbstractSet[str]:
    """All words that match the scores these words select; empty if they select none."""
    with attributed(f"metric '{metric}'"):
        scores = measure(benchmark, metric, words, counts, CORRECTED)
    return frozenset[str]().union(*(score.matched_words for score in scores))


def cautions(gates: Iterable[Gate], counts: Sequence[Counts]) -> Iterator[str]:
    """One line per gate that is narrowed to the part where it makes sense, or that judges others, too."""
    for gate in gates:
        metric = metric_named(gate.metric)
        score = f"regression({gate.metric})" if gate.regression else gate.metric
        worsens = metric.worsens(gate.comparison, gate.threshold)
        if worsens and metric.sense(gate.comparison) is None:
            yield f"gate '{gate.text}' fails a good model: of {score}, {metric.best}"
        bound = f"{gate.comparison} {gate.threshold:g}"
        for sense, gate_scope in _scopes(gate, counts):
            if gate_scope.narrowed:
                meant = f"{score}[{','.join(gate_scope.words)}] {bound}"
                yield f"gate '{gate.text}' judges {sense.part} answers only ({meant}): {sense.elsewhere}"
            elif gate_scope.beside:
                parts = ", ".join(gate_scope.beside)
                yield (
                    f"gate '{gate.text}' is unusual for {parts}: {sense.elsewhere}; "
                    f"{score}[{sense.part}] {bound} may be meant"
                )


def _scopes(gate: Gate, counts: Sequence[Counts]) -> Iterator[tuple[Sense, Scope]]:
    """The scope of a gate in each benchmark where its metric makes sense in only one part."""
    for benchmark, benchmark_counts in by_benchmark(counts):
        metric = benchmark.metrics.get(gate.metric)
        sense = None if metric is None else metric.sense(gate.comparison)
        if sense is not None:
            yield sense, scope(benchmark, gate, benchmark_counts)
