"""Results of promptfoo, as ``promptfoo eval --output`` writes them: JSON, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import item_in
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.messages import asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, elements, sha256, value_at
from pytest_factorfair.models.openai_format import tokens
from pytest_factorfair.redaction import fit

DOCUMENT = frozenset({"evalId", "results"})
LINES = frozenset({"promptIdx", "testIdx", "provider", "prompt"})

_VERSION = 3
_FAILED_TO_ANSWER = 2
"""promptfoo's reason for a failure that is an error of the call, and not of an assertion."""


def open_results(source: Source) -> Log:
    """Open results.

    Raises:
        InputError: they are of another version.
    """
    path = source.path
    if source.shape != "document":
        return Log("results of promptfoo", {path.name: sha256(path)}, partial(_replies, source, ()))
    version = value_at(path, "results.version")
    if version != _VERSION:
        raise InputError(
            f"{path}: results of promptfoo in version {fit(str(version))}, and only {_VERSION} can be "
            "read: write them with another version of it"
        )
    program = value_at(path, "metadata.promptfooVersion") or ""
    providers = value_at(path, "config.providers")
    return Log(
        f"results of promptfoo {program}".rstrip(),
        {path.name: sha256(path)},
        partial(_replies, source, providers if isinstance(providers, list) else ()),
    )


def _replies(source: Source, providers: Sequence[object]) -> Iterator[LoggedReply]:
    settings = {
        name: settings_in(provider.get("config"))
        for provider in providers
        if isinstance(provider, Mapping)
        for name in (provider.get("id"), provider.get("label"))
        if isinstance(name, str)
    }
    document = source.shape == "document"
    for entry in elements(source.path, "results.results.item") if document else source.entries():
        yield _reply(entry, settings)


def _reply(entry: Entry, settings: Mapping[str, Mapping[str, Any]]) -> LoggedReply:
    """The reply in a result.

    Raises:
        InputError: it is no result, or one about a picture.
    """
    fields, where = entry.fields, entry.where
    prompt = fields.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, Mapping) else prompt
    if not isinstance(raw, str):
        raise InputError(f"{where}: expected a result, with prompt.raw")
    asked = asked_in(raw, where)
    provider = fields.get("provider")
    names = [provider.get("label"), provider.get("id")] if isinstance(provider, Mapping) else [provider]
    model = next((name for name in names if isinstance(name, str) and name), "")
    response = fields.get("response")
    response = response if isinstance(response, Mapping) else {}
    output = response.get("output")
    error = ""
    if output is None or fields.get("failureReason") == _FAILED_TO_ANSWER:
        error = fit(str(response.get("error") or fields.get("error") or "no output").splitlines()[0])
    usage = response.get("tokenUsage")
    usage = usage if isinstance(usage, Mapping) else {}
    latency = fields.get("latencyMs")
    variables = fields.get("vars")
    return LoggedReply(
        asked.prompt,
        "" if error else plain(output if isinstance(output, str) else json.dumps(output), where),
        where,
        tokens_in=tokens(usage.get("prompt")),
        tokens_out=tokens(usage.get("completion")),
        seconds=latency / 1000 if isinstance(latency, int | float) else None,
        model=model,
        settings={**settings.get(model, {}), **asked.settings},
        error=error,
        item=item_in(variables, fields.get("testIdx")) if isinstance(variables, Mapping) else None,
    ).begun(asked.begun)
