"""Chat completions of a vision model that describes the people in a picture with words from a fixed list.

The words are the options of the query: each names a group of one attribute. The reply lists people from left
to right, ``{"seen": [{"gender": "female", "race": "unclear"}]}``. A JSON schema (structured output) enforces
the words; with a service that rejects schemas, only the prompt asks for them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from pytest_factorfair.domain import UNCLEAR, Query, Request
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_errors import Complaint
from pytest_factorfair.models.openai_format import Parameters
from pytest_factorfair.pictures import MEDIA_TYPES, kind

SEEN = "seen"
SCHEMA = "response_format"


def words(query: Query) -> dict[str, tuple[str, ...]]:
    """The words that a reply may use for each attribute; the last one means "cannot tell"."""
    vocabulary: dict[str, tuple[str, ...]] = {}
    for option in query.options:
        for attribute in option.groups:
            vocabulary[attribute] = (*vocabulary.get(attribute, ()), option.text)
    return {attribute: (*texts, UNCLEAR) for attribute, texts in vocabulary.items()}


def schema(query: Query) -> dict[str, object]:
    """The JSON schema of a reply."""
    person = _object({name: {"type": "string", "enum": list(texts)} for name, texts in words(query).items()})
    return _object({SEEN: {"type": "array", "items": person}})


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class PeopleFormat(ChatFormat):
    """The settings of a chat model that describes the people in pictures; builds its requests."""

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, SCHEMA: "json_schema"}

    def request(self, request: Request, parameters: Parameters) -> dict[str, object]:
        fields = super().request(request, parameters)
        if SCHEMA in fields and request.query is not None:
            asked = {"name": SEEN, "strict": True, "schema": schema(request.query)}
            fields[SCHEMA] = {"type": "json_schema", "json_schema": asked}
        return fields

    def content(self, request: Request) -> str | list[dict[str, object]]:
        if request.query is None:
            return super().content(request)
        picture = request.query.picture
        encoded = base64.b64encode(picture).decode()
        url = f"data:{MEDIA_TYPES[kind(picture) or 'png']};base64,{encoded}"
        words: dict[str, object] = {"type": "text", "text": request.prompt}
        return [words, {"type": "image_url", "image_url": {"url": url}}]

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        if SCHEMA in sent and complaint.refuses(SCHEMA):
            return {name: value for name, value in sent.items() if name != SCHEMA}
        return super().without_refused(sent, complaint)
