"""The files of the evidence for a report, with what they leave out; nothing is written here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_factorfair.domain import Summary
from pytest_factorfair.exports.evidence import attestation, hub_results, page
from pytest_factorfair.exports.evidence.consistency import Recomputed
from pytest_factorfair.exports.evidence.every_eval_ever import Evaluator, ModelName, ModelRecord, digest
from pytest_factorfair.exports.evidence.exported import ExportedReplies, ExportedScores, scores
from pytest_factorfair.exports.evidence.hub_results import HubTask

REPORT = "report.json"
PAGE = "evidence.md"


@dataclass(frozen=True, slots=True)
class Publication:
    """What the user says about the evidence: who ran the evaluation, and where a model is published.

    ``model`` is the only model to export, None for all. ``hub_id`` is its id on a hub, ``tasks`` are those of
    benchmarks there that its scores are reported for.
    """

    evaluator: Evaluator
    model: str | None = None
    hub_id: str | None = None
    tasks: Sequence[HubTask] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The content of each file by its path, and what was exported and left out, a line each."""

    files: Mapping[str, bytes]
    lines: tuple[str, ...]


def evidence(
    summary: Summary,
    report: bytes,
    publication: Publication,
    *,
    replies: Mapping[str, ExportedReplies] | None,
    recomputed: Recomputed,
) -> Evidence:
    """The files of a report with these bytes; ``replies`` are its replies by model, if they are exported.

    Raises:
        InputError: a task of a hub is for a score that is not exported.
    """
    files: dict[str, bytes] = {REPORT: report}
    lines: list[str] = []
    left_out: dict[str, Counter[str]] = {}
    report_digest = digest(report)
    for model in summary.fingerprint.models:
        exported = scores(summary, model)
        left_out[model] = Counter({f"scores: {reason}": count for reason, count in exported.left_out.items()})
        of_model = None if replies is None else replies[model]
        if of_model is not None:
            left_out[model] += Counter(
                {f"replies: {reason}": count for reason, count in of_model.left_out.items()}
            )
        lines += _counts(model, exported, of_model)
        if publication.model in (None, model):
            record = ModelRecord(
                summary, report_digest, ModelName.of(model, publication.hub_id), publication.evaluator
            )
            instances = b""
            if of_model is not None and of_model.replies:
                rows = record.instances(of_model.replies)
                instances = b"".join(json.dumps(_whole(row)).encode() + b"\n" for row in rows)
                files[f"{record.path}_samples.jsonl"] = instances
            files[f"{record.path}.json"] = _json(record.aggregate(exported.scores, instances))
            if publication.tasks:
                by_key = {score.key: score for score in exported.scores}
                entries = hub_results.entries(summary, publication.tasks, by_key)
                files[".eval_results/factorfair.yaml"] = _yaml(entries)
    if summary.gates:
        files["test-result.predicate.json"] = _json(attestation.predicate(summary))
        files["test-result.statement.json"] = _json(attestation.statement(summary, report_digest))
    digests = {path: digest(content) for path, content in sorted(files.items())}
    text = page.to_markdown(
        summary, digests, evaluator=publication.evaluator, recomputed=recomputed, left_out=left_out
    )
    files[PAGE] = text.encode()
    return Evidence(files, tuple(lines))


def _counts(model: str, exported: ExportedScores, replies: ExportedReplies | None) -> Iterator[str]:
    """What of a model was exported and left out."""
    yield f"{model}: {len(exported.scores):,} scores exported{_reasons(exported.left_out)}"
    if replies is not None:
        yield f"{model}: {len(replies.replies):,} replies exported{_reasons(replies.left_out)}"


def _reasons(left_out: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    return f"; left out: {reasons}" if reasons else ""


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(_whole(document), indent=1, allow_nan=False) + "\n").encode()


def _yaml(entries: Sequence[Mapping[str, Any]]) -> bytes:
    import yaml

    return yaml.safe_dump(_whole(entries), sort_keys=False, allow_unicode=True).encode()


def _whole(value: Any) -> Any:
    """A document without lone surrogates, which a reply may hold and no reader of UTF-8 accepts."""
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_whole(element) for element in value]
    return (
        value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(value, str)
        else value
    )
