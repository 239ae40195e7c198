"""Tell by its content which tool wrote a log, and open it.

The formats of the other modules of this room: ``inspect_logs``, ``lm_eval``, ``promptfoo``, ``helm``,
``chats`` (and the results of batches), and ``tables`` for whatever has named columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs import chats, helm, inspect_logs, lm_eval, promptfoo, tables
from pytest_factorfair.logs.log import Log
from pytest_factorfair.logs.reading import Source
from pytest_factorfair.models.arguments import Arguments, Text
from pytest_factorfair.redaction import fit


class LogArguments(Arguments):
    """The arguments of a log: columns of a table, a model to choose, and the requests of a batch."""

    prompt: Text | None = None
    text: Text | None = None
    repeat: Text | None = None
    model: Text | None = None
    requests: Text | None = None

    @property
    def columns(self) -> Mapping[str, str]:
        """The names of columns, by what they hold."""
        named = {"prompt": self.prompt, "text": self.text, "repeat": self.repeat}
        return {holds: name for holds, name in named.items() if name is not None}


DOCUMENTS: Mapping[frozenset[str], Callable[[Source], Log]] = {
    inspect_logs.KEYS: inspect_logs.open_log,
    promptfoo.DOCUMENT: promptfoo.open_results,
    helm.KEYS: helm.open_state,
}
"""The functions that open a single JSON document, by its first keys."""

OBJECTS: Mapping[frozenset[str], Callable[[Source], Log]] = {
    lm_eval.KEYS: lm_eval.open_samples,
    promptfoo.LINES: promptfoo.open_results,
}
"""The functions that open JSON lines or an array, by keys of their objects."""


def open_log(path: Path, arguments: LogArguments | None = None) -> Log:
    """Open a log for reading.

    Raises:
        InputError: the file cannot be read, or its format is unknown.
        MissingExtraError: its format needs an optional dependency that is not installed.
    """
    source, arguments = Source.of(path), arguments or LogArguments()
    is_result = source.shape in ("lines", "array") and chats.is_result(source.first)
    if arguments.requests and not is_result:
        raise InputError(f"{path}: argument 'requests' is only for the results of a batch")
    document = _document(source)
    if document is None and arguments.columns:
        return tables.open_table(source, arguments.columns)
    if is_result:
        return chats.open_results(source, Path(arguments.requests) if arguments.requests else None)
    log = document or _objects(source)
    for holds in arguments.columns:
        raise InputError(f"{path}: argument '{holds}' names a column, and this is {log.format}")
    return log


def _document(source: Source) -> Log | None:
    """The log in an archive or a single JSON document, which may be one line; None in another file.

    Raises:
        InputError: no known tool writes such documents.
    """
    if source.shape == "archive":
        return inspect_logs.open_log(source)
    for first_keys, open_document in DOCUMENTS.items():
        if source.first.keys() >= first_keys:
            return open_document(replace(source, shape="document"))
    if next(iter(source.first), None) == lm_eval.RESULTS:
        raise InputError(
            f"{source.path}: results of lm-evaluation-harness have no replies; name the file samples_*.jsonl "
            "beside it, which --log_samples writes"
        )
    if source.shape == "document":
        keys = ", ".join(map(fit, source.first)) or "no keys"
        raise InputError(f"{source.path}: no known tool writes a JSON document that begins with {keys}")
    return None


def _objects(source: Source) -> Log:
    """The log in lines, an array or a table of objects."""
    for keys, open_objects in OBJECTS.items():
        if source.first.keys() >= keys:
            return open_objects(source)
    if source.shape == "table" and promptfoo.is_table(source.first):
        return promptfoo.open_table(source)
    return chats.open_chats(source) if chats.is_chat(source.first) else tables.open_table(source, {})
