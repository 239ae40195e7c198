"""Scenario states of HELM, which ``helm-run`` writes: ``scenario_state.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.messages import Conversation, asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Source, elements, sha256
from pytest_factorfair.models.openai_chat import finish_of
from pytest_factorfair.redaction import fit

KEYS = frozenset({"adapter_spec", "request_states"})

CORRECT = "correct"
"""The tag of right references."""


def open_state(source: Source) -> Log:
    """Open a scenario state."""
    path = source.path
    return Log("a scenario state of HELM", {path.name: sha256(path)}, partial(_replies, source))


def _replies(source: Source) -> Iterator[LoggedReply]:
    for entry in elements(source.path, "request_states.item"):
        fields, where = entry.fields, entry.where
        request, result = fields.get("request"), fields.get("result")
        if not isinstance(request, Mapping):
            raise InputError(f"{where}: expected a request state, with request and result")
        if fields.get("reference_index") is not None:
            raise InputError(
                f"{where}: each option was scored in a request of its own; only replies in words or letters "
                "can be judged, which method=multiple_choice_joint makes"
            )
        if request.get("multimodal_prompt"):
            raise InputError(f"{where}: the prompt contains a picture; only text is judged")
        asked = asked_in(request.get("messages") or str(request.get("prompt") or ""), where)
        yield from _completions(fields, where, asked, request, result if isinstance(result, Mapping) else {})


def _completions(
    fields: Mapping[str, Any],
    where: str,
    asked: Conversation,
    request: Mapping[str, Any],
    result: Mapping[str, Any],
) -> Iterator[LoggedReply]:
    """The replies of a request, or the error that it ended with."""
    model = str(request.get("model") or "")
    settings = {**settings_in(request), **asked.settings}
    item = _item(fields)
    completions = result.get("completions")
    if not result.get("success") or not isinstance(completions, list) or not completions:
        error = fit(str(result.get("error") or "no completion"))
        yield LoggedReply(asked.prompt, "", where, model=model, settings=settings, error=error, item=item)
        return
    for completion in completions:
        if not isinstance(completion, Mapping) or not isinstance(completion.get("text"), str):
            raise InputError(f"{where}: a completion has no text")
        if completion.get("multimodal_content"):
            raise InputError(f"{where}: a completion contains a picture; only text is judged")
        reason = completion.get("finish_reason")
        seconds = result.get("request_time")
        yield LoggedReply(
            asked.prompt,
            plain(completion["text"], where),
            where,
            finish=finish_of(reason.get("reason") if isinstance(reason, Mapping) else reason),
            seconds=seconds if isinstance(seconds, int | float) else None,
            model=model,
            settings=settings,
            item=item,
        ).begun(asked.begun)


def _item(fields: Mapping[str, Any]) -> LoggedItem | None:
    """The item of an instance whose references were shown with letters."""
    instance, letters = fields.get("instance"), fields.get("output_mapping")
    if not isinstance(instance, Mapping) or not isinstance(letters, Mapping):
        return None
    given = instance.get("input")
    text = given.get("text") if isinstance(given, Mapping) else None
    if not isinstance(text, str):
        return None
    context, divider, question = text.rpartition("\nQuestion: ")  # as HELM joins a passage and a question
    references = instance.get("references")
    right = {
        utf8(str(output.get("text")))
        for reference in (references if isinstance(references, list) else [])
        if isinstance(reference, Mapping)
        and isinstance(tags := reference.get("tags"), list)
        and CORRECT in tags
        and isinstance(output := reference.get("output"), Mapping)
    }
    options = tuple((str(letter), utf8(str(option))) for letter, option in letters.items())
    return LoggedItem(
        str(instance.get("id")),
        utf8(question),
        utf8(context) if divider else "",
        options,
        tuple(letter for letter, text in options if text in right),
    )
