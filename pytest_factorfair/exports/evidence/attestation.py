"""The verdicts of a report as an in-toto test result: a predicate for signing tools, and a statement."""

from __future__ import annotations

from typing import Any

from pytest_factorfair.domain import Judgement, Summary

PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"

Document = dict[str, Any]


def predicate(summary: Summary) -> Document:
    """The verdicts by gate; an incomplete run, or a gate that neither failed nor passed, is a warning."""

    def names(*judgements: Judgement) -> list[str]:
        return [verdict.name for verdict in summary.gates if verdict.judgement in judgements]

    failed, warned = names("failed"), names("waived", "inconclusive", "not judged")
    digests = {f"checklist/{name}": digest for name, digest in summary.fingerprint.checklists.items()}
    if summary.fingerprint.plan:
        digests["plan"] = summary.fingerprint.plan
    return {
        "result": "FAILED" if failed else "WARNED" if warned or summary.incomplete else "PASSED",
        "configuration": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "passedTests": names("passed"),
        "warnedTests": warned,
        "failedTests": failed,
    }


def statement(summary: Summary, report_digest: str) -> Document:
    """The unsigned statement about a report with this digest."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "report.json", "digest": {"sha256": report_digest}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate(summary),
    }
