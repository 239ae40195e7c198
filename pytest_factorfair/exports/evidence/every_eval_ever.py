"""The results of a model in the format of Every Eval Ever 0.3.0: an aggregate, and instances."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import Summary
from pytest_factorfair.exports.evidence.exported import ExportedScore, Reply, result_key
from pytest_factorfair.models import registry

SCHEMA_VERSION = "0.3.0"
LIBRARY = "pytest-factorfair"
LEVEL = 0.95

_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d|data|unknown)(?:\..*)?")

Document = dict[str, Any]


class Evaluator(NamedTuple):
    """Who ran the evaluation, and the relationship to the developer of the model."""

    organization: str = "unknown"
    relationship: str = "other"


class ModelName(NamedTuple):
    """A model's spec, and its id: a developer and a name that are portable names of folders."""

    spec: str
    developer: str
    name: str

    @classmethod
    def of(cls, spec: str, hub_id: str | None = None) -> ModelName:
        """The name of a model by its id on a hub, or else by its spec: ``sim:ideal`` is ``sim/ideal``."""
        written = hub_id or spec.replace(":", "/", 1)
        parts = [part for part in map(_portable, written.split("/")) if part]
        developer, *names = parts if len(parts) > 1 else ["local", *(parts or ["model"])]
        return cls(spec, developer, "_".join(names))

    @property
    def id(self) -> str:
        return f"{self.developer}/{self.name}"


def _portable(part: str) -> str:
    """A part of a name with letters, digits and ``._-`` only, which every file system takes."""
    plain = _NOT_PORTABLE.sub("_", part)[:80].strip("._")
    return f"{plain}_model" if _RESERVED.fullmatch(plain) else plain


class ModelRecord:
    """The files of one model; the same report gives the same bytes."""

    def __init__(self, summary: Summary, report_digest: str, name: ModelName, evaluator: Evaluator) -> None:
        self._summary = summary
        self._digest = report_digest
        self._name = name
        self._evaluator = evaluator
        uuid = UUID(digest(f"{report_digest}\0{name.spec}")[:32], version=4)
        self.path = f"data/{LIBRARY}/{name.developer}/{name.name}/{uuid}"

    @property
    def evaluation_id(self) -> str:
        return f"{LIBRARY}/{self._name.id}/{self._time('finished')}"

    def _time(self, name: str) -> str:
        """A time of the run in seconds since 1970, as text."""
        return str(int(datetime.fromisoformat(self._summary.fingerprint.times[name]).timestamp()))

    def aggregate(self, scores: Sequence[ExportedScore], instances: bytes | None) -> Document:
        """The aggregate; it names the file of ``instances``, if there are any."""
        summary, run = self._summary, self._summary.fingerprint
        document: Document = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.evaluation_id,
            "evaluation_timestamp": self._time("started"),
            "retrieved_timestamp": self._time("finished"),
            "source_metadata": {
                "source_name": LIBRARY,
                "source_type": "evaluation_run",
                "source_organization_name": self._evaluator.organization,
                "evaluator_relationship": self._evaluator.relationship,
                "additional_details": _details(
                    report_sha256=self._digest,
                    incomplete=summary.incomplete,
                    verdicts={
                        verdict.name: verdict.judgement
                        for verdict in summary.gates
                        if verdict.model in ("", self._name.spec)
                    },
                ),
            },
            "eval_library": {
                "name": LIBRARY,
                "version": run.versions[LIBRARY],
                "additional_details": _details(**run.versions),
            },
            "model_info": {
                "name": self._name.spec,
                "id": self._name.id,
                "developer": self._name.developer,
                "additional_details": {
                    # What can run on the user's other machines runs on the user's.
                    "deployment_type": "self_deployed"
                    if registry.replicable(self._name.spec, {})
                    else "unknown",
                    "model_availability": "unknown",
                    "model_as_asked": _text(run.models[self._name.spec]),
                },
            },
            "evaluation_results": [self._result(score) for score in scores],
        }
        if instances:
            document["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": f"{self.path}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": digest(instances),
                "total_rows": instances.count(b"\n"),
            }
        return document

    def _result(self, exported: ExportedScore) -> Document:
        score, metric, shown, direction = exported
        run = self._summary.fingerprint
        lowest, highest = metric.declared_range
        uncertainty: Document = {"num_samples": score.n}
        if score.low is not None and score.high is not None:
            uncertainty["confidence_interval"] = {
                "lower": score.low,
                "upper": score.high,
                "confidence_level": LEVEL,
                "method": run.interval,
            }
        return {
            "evaluation_result_id": exported.key,
            "evaluation_name": _evaluation(exported.score_key),
            "source_data": {
                "dataset_name": score.checklist,
                "source_type": "other",
                "additional_details": _details(
                    content_sha256=run.checklists[score.checklist], truth=run.truth
                ),
            },
            "metric_config": {
                "evaluation_description": metric.meaning,
                "metric_id": f"{LIBRARY}.{score.metric}",
                "metric_name": score.metric,
                "metric_unit": "proportion",
                "lower_is_better": direction == "lower",
                "score_type": "continuous",
                "min_score": lowest,
                "max_score": highest,
                "additional_details": _details(
                    floor=score.floor, ceiling=score.ceiling, fair_reference=score.fair_reference
                ),
            },
            "score_details": {
                "score": shown,
                "details": _details(
                    plain_value=score.value,
                    part=score.part,
                    context=score.context,
                    attribute=score.attribute,
                    no_interval=score.reason or None,
                ),
                "uncertainty": uncertainty,
            },
            "generation_config": {
                "generation_args": {},
                "additional_details": _details(
                    preset=run.preset,
                    design=run.design,
                    samples=run.samples,
                    objective=run.objective,
                    seed=run.seed,
                    answers=run.answers,
                    declines=run.declines,
                    estimator=run.estimator,
                    detector=run.detector or None,
                ),
            },
        }

    def instances(self, replies: Iterable[Reply]) -> Iterator[Document]:
        """A row for each reply to a question with a right answer."""
        for reply in replies:
            answer, right, line = reply.answer, reply.right, reply.line
            response = line["response"] or {}
            tokens_in, tokens_out = response.get("tokens_in"), response.get("tokens_out")
            row = {
                "schema_version": SCHEMA_VERSION,
                "evaluation_id": self.evaluation_id,
                "model_id": self._name.id,
                "evaluation_name": _evaluation(right.score_key),
                "evaluation_result_id": result_key(right.metric, right.score_key),
                "sample_id": answer.query,
                "sample_hash": digest(f"{line['prompt']}\0{right.group}"),
                "interaction_type": "single_turn",
                "input": {
                    "raw": line["prompt"],
                    "reference": [right.group],
                    "choices": list(answer.offered.get(reply.attribute, ())),
                },
                "output": {"raw": [response.get("text") or ""]},
                "answer_attribution": [
                    {
                        "turn_idx": 0,
                        "source": "output.raw",
                        "extracted_value": reply.group,
                        "extraction_method": "custom",
                        "is_terminal": True,
                    }
                ],
                "evaluation": {"score": reply.score, "is_correct": reply.correct},
                "error": None if answer.outcome == "answered" else answer.outcome,
                "metadata": _details(
                    case=line["case"],
                    store_key=line.get("key") or None,
                    letter=answer.letter,
                    repeat=answer.repeat,
                ),
            }
            if tokens_in is not None and tokens_out is not None:
                row["token_usage"] = {
                    "input_tokens": tokens_in,
                    "output_tokens": tokens_out,
                    "total_tokens": tokens_in + tokens_out,
                }
            yield row


def digest(content: str | bytes) -> str:
    """The SHA-256 of a text or file in hexadecimal digits."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


def _evaluation(score_key: ScoreKey) -> str:
    return ".".join(filter(None, ("factorfair", *score_key)))


def _text(value: object) -> str:
    """A detail, which the format wants as text: anything but text is JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _details(**values: object) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items() if value is not None}
