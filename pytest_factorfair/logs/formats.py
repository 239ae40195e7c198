"""Tell by its content which tool wrote a log, and open it.

The formats of the other modules of this room: ``inspect_logs``, ``lm_eval``, ``promptfoo``, ``helm``,
``chats`` (and the results of batches), and ``tables`` for whatever has named columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pytest_factorfair.domain import listed
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs import chats, helm, inspect_logs, lm_eval, promptfoo, tables
from pytest_factorfair.logs.log import Log
from pytest_factorfair.logs.reading import LONGEST, Source, lines, opened
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import Arguments, Text
from pytest_factorfair.models.spec import parse
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


def open_log(path: Path, given: LogArguments | None = None) -> Log:
    """Open a log for reading.

    Raises:
        InputError: the file cannot be read, or its format is unknown.
        MissingExtraError: its format needs an optional dependency that is not installed.
    """
    given = given or LogArguments()
    if path.is_dir():
        return _folder(path, given)
    source = Source.of(path)
    is_result = source.shape in ("lines", "array") and chats.is_result(source.first)
    if given.requests and not is_result:
        raise InputError(f"{path}: argument 'requests' is only for the results of a batch")
    document = _document(source)
    if document is None and given.columns:
        return tables.open_table(source, given.columns)
    if is_result:
        return chats.open_results(source, Path(given.requests) if given.requests else None)
    log = document or _objects(source)
    for holds in given.columns:
        raise InputError(f"{path}: argument '{holds}' names a column, and this is {log.format}")
    return log


FILES = ("scenario_state.json", "samples_*.jsonl", "*.eval")
"""The names that HELM, lm-evaluation-harness and Inspect give to logs in their folders."""

SHOWN = 3
"""The number of files that a message names."""


def _folder(folder: Path, given: LogArguments) -> Log:
    """The log in a folder, or the samples of several tasks of lm-evaluation-harness as one log.

    Raises:
        InputError: it has none, or several of another tool or of one task.
    """
    paths = sorted(path for pattern in FILES for path in folder.rglob(pattern))
    names = [str(path.relative_to(folder)) for path in paths]
    if not paths:
        raise InputError(f"{folder}: a folder without {', '.join(FILES[:-1])} or {FILES[-1]}; name a file")
    tasks = [lm_eval.task_of(path) for path in paths]
    if len(paths) > 1 and (None in tasks or len({*tasks}) < len(tasks)):
        further = len(names) - SHOWN
        shown = listed([*names[:SHOWN], *([f"{further} more"] if further > 0 else [])])
        raise InputError(f"{folder}: the folder has {len(names)} logs; name one of {shown}")
    logs = [open_log(path, given) for path in paths]
    return Log(
        logs[0].format,
        {
            str((path.parent / name).relative_to(folder)): digest
            for path, log in zip(paths, logs, strict=True)
            for name, digest in log.files.items()
        },
        lambda: chain.from_iterable(log.replies() for log in logs),
    )


def open_with(path: Path, given: Mapping[str, str]) -> Log:
    """Open a log with ``KEY=VALUE`` arguments of a model.

    Raises:
        InputError: as ``open_log``, or an argument is unknown.
        MissingExtraError: its format needs an optional dependency that is not installed.
    """
    return open_log(path, arguments.read(parse(f"replay:{path}", given), LogArguments))


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
        with opened(source.path) as file:
            line = file.readline(LONGEST)
        if not line.endswith(b"\n") or line.rstrip().endswith(b"}"):
            next(lines(source.path))  # it is meant as a line, and raises what is wrong with it
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
