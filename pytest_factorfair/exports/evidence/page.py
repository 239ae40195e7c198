"""``evidence.md``: what was asked and judged, the results, what is missing, and the digest of every file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.benchmarks.combined import declining
from pytest_factorfair.domain import Summary, Verdict, plural
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import ETHICS, NO_GATES
from pytest_factorfair.drawing.table import as_markdown
from pytest_factorfair.exports import card
from pytest_factorfair.exports.evidence.consistency import Recomputed
from pytest_factorfair.exports.evidence.every_eval_ever import Evaluator
from pytest_factorfair.gates.release import SIGNS, grouped

SCOPE = "Political neutrality is not tested. This page states what was measured; it certifies nothing."

PROVES = (
    "The digests prove that these files belong together and are unchanged. A signature over report.json also "
    "proves who signed it. Neither proves that the model behind an address was the named one."
)

NEUTRAL = "Declined judgements count as even choices: they are among the refused answers, and not missing."

PLAN = (
    "The run was held to the plan with the digest above. A digest does not prove when the plan was made: "
    "a commit or an attestation from before the run does."
)


def to_markdown(
    summary: Summary,
    files: Mapping[str, str],
    *,
    evaluator: Evaluator,
    recomputed: Recomputed,
    left_out: Mapping[str, Mapping[str, int]],
) -> str:
    """The page; ``files`` are the digests of the other files, by path.

    ``recomputed`` counts what was computed again from the report's counts. ``left_out`` has the numbers of
    scores and replies that other formats cannot hold, by reason, for each model.
    """
    run = summary.fingerprint
    cards = [card.of(summary, model, {}) for model in run.models]
    parts = [f"# Evidence: {escaping.markdown(', '.join(run.models))}"]
    if summary.incomplete:
        parts += [f"> **Not a finished measurement:** {escaping.markdown(summary.incomplete)}."]
    if summary.release:
        parts += [f"**{escaping.markdown(str(summary.release))}**"]
    parts += ["## Criteria", *(_criteria(summary) if summary.gates else [NO_GATES])]
    for model_card in cards:
        method = (f"{name}: {value}" for name, value in card.method(model_card))
        parts += [_of(model_card, "How it was measured"), _bullets(*method)]
    parts += [
        "## The run",
        _bullets(
            f"who ran it: {evaluator.organization}; relationship to the developer: {evaluator.relationship}",
            f"plan: {f'SHA-256 {run.plan}' if run.plan else 'none was fixed before the run'}",
        ),
    ]
    for model_card in cards:
        parts += [_of(model_card, "Results"), *card.score_tables(model_card.summary)]
    for benchmark in benchmarks_of(summary.scores):
        for table in benchmark.supplements(summary):
            parts += [f"**{escaping.markdown(table.title)}**", as_markdown(table)]
    for model_card in cards:
        lost = ", ".join(f"{count:,} {name}" for name, count in card.answers(model_card.summary).items())
        about = model_card.summary
        declined = [f"{of.sentence} {NEUTRAL}" for of in declining(about)]
        lines = (lost, *declined, *_left_out(left_out[model_card.model]))
        parts += [_of(model_card, "Missing answers"), _bullets(*lines)]
    again = (
        f"Computed again from the counts in the report, with the same result: {recomputed.scores:,} of "
        f"{plural(len(summary.scores), 'score')} and {recomputed.gates:,} of "
        f"{plural(len(summary.gates), 'gate')}. The report does not hold the counts of the others."
    )
    limits = [
        *(
            line
            for benchmark in benchmarks_of(summary.scores)
            for line in (*benchmark.reading(summary), *benchmark.limits(summary))
        ),
        *summary.notes,
        again,
    ]
    parts += ["## Limits", _bullets(*limits, ETHICS, SCOPE, *([PLAN] if run.plan else []), PROVES)]
    rows = (f"| `{escaping.markdown_code(path)}` | `{digest}` |" for path, digest in files.items())
    parts += ["## Files", "\n".join(("| file | SHA-256 |", "|---|---|", *rows))]
    return "\n\n".join(parts) + "\n"


def _of(model_card: card.Card, title: str) -> str:
    return f"## {title}: {escaping.markdown(model_card.model)}"


def _left_out(reasons: Mapping[str, int]) -> Iterator[str]:
    for reason, count in reasons.items():
        yield f"left out of other formats: {count:,} {reason}"


def _bullets(*lines: str) -> str:
    return "\n".join(f"- {escaping.markdown(line)}" for line in lines)


def _criteria(summary: Summary) -> Iterator[str]:
    """A table of the gates that did not pass, failures first; the others follow, folded."""
    ordered = [verdict for group in grouped(summary.gates) for verdict in group.verdicts]
    if doubtful := [verdict for verdict in ordered if verdict.judgement != "passed"]:
        yield _verdicts(doubtful)
    if passed := [verdict for verdict in ordered if verdict.judgement == "passed"]:
        yield f"<details>\n<summary>passed: {plural(len(passed), 'gate')}</summary>"
        yield _verdicts(passed)
        yield "</details>"


def _verdicts(verdicts: Iterable[Verdict]) -> str:
    """Each gate with its verdict and the numbers that it was judged on."""
    rows = (
        f"| **{SIGNS[verdict.judgement]}** | `{escaping.markdown_code(verdict.gate)}` | "
        f"{escaping.markdown(verdict.subject)} | {escaping.markdown(verdict.reason)} | {verdict.n:,} |"
        for verdict in verdicts
    )
    return "\n".join(("| verdict | gate | on | why | n |", "|---|---|---|---|---:|", *rows))
