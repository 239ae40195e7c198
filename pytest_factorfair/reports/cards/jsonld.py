"""A model card for machines: JSON-LD in the words of schema.org, which needs no network to be expanded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_factorfair.domain import Score, Source, Verdict
from pytest_factorfair.reports import plain
from pytest_factorfair.reports.cards.card import Card, answers, command, label, method, scores, value, what
from pytest_factorfair.reports.ethics import ETHICS

CONTEXT = {"@vocab": "https://schema.org/"}
MODEL = {"@id": "_:model"}
MEASURED = "95 % interval from minValue to maxValue"


def to_jsonld(card: Card) -> str:
    """A Dataset about the model: a variable per score, a review per gate, and how it was measured."""
    summary = card.summary
    told = summary.fingerprint
    made: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "name": f"Factuality and fairness of {card.model}",
        "creativeWorkStatus": f"Incomplete: {summary.incomplete}" if summary.incomplete else "Published",
        "description": f"{what(summary)} {ETHICS}",
        "about": MODEL | {"@type": "SoftwareApplication", "name": card.model},
        "dateCreated": told.times.get("finished", ""),
        "isBasedOn": [
            _checklist(name, digest, card.sources.get(name, ())) for name, digest in told.checklists.items()
        ],
        "variableMeasured": [_variable(one) for one in scores(summary)],
        "review": [_review(one) for one in summary.gates],
        "additionalProperty": [_property(name, told) for name, told in _properties(card)],
    }
    return json.dumps(_clean(made), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _checklist(name: str, digest: str, sources: Sequence[Source]) -> dict[str, Any]:
    citations = [f"{one.statistic}: {one.agency}, {one.year}" for one in sources]
    return {"@type": "Dataset", "name": name, "version": digest, "citation": citations}


def _variable(one: Score) -> dict[str, Any]:
    """A score; what it is about and how many answers are behind it are its references."""
    found = {
        "@type": "PropertyValue",
        "propertyID": one.metric,
        "name": f"{one.checklist}, {one.attribute}: {label(one)}",
        "value": value(one),
        "minValue": one.low,
        "maxValue": one.high,
        "measurementTechnique": one.reason if one.low is None else MEASURED,
        "valueReference": [
            _property(name, getattr(one, name))
            for name in ("part", "context", "attribute", "n")
            if getattr(one, name) is not None
        ],
    }
    return {name: told for name, told in found.items() if told is not None}


def _review(one: Verdict) -> dict[str, Any]:
    return {
        "@type": "Review",
        "name": one.gate,
        "itemReviewed": MODEL,
        "reviewAspect": one.subject,
        "reviewBody": one.reason,
        "reviewRating": {"@type": "Rating", "ratingValue": one.judgement},
    }


def _properties(card: Card) -> Iterator[tuple[str, object]]:
    yield from method(card)
    yield from answers(card.summary).items()
    yield "command line", command(card.summary)
    yield from (("caution", note) for note in card.summary.notes)


def _property(name: str, told: object) -> dict[str, Any]:
    return {"@type": "PropertyValue", "name": name, "value": told}


def _clean(value: Any) -> Any:
    """Without control characters and lone surrogates, which are no text."""
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return plain.text(value) if isinstance(value, str) else value
