"""Results of promptfoo, as ``promptfoo eval --output`` writes them: JSON, JSON lines, or CSV.

CSV files have templates of prompts in place of prompts, which are filled in here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import item_in
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.messages import Conversation, asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, cells, digests, elements, value_at
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
        return Log("results of promptfoo", digests(path), partial(_replies, source, ()))
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
        digests(path),
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
    variables = fields.get("vars")
    return LoggedReply(
        asked.prompt,
        "" if error else plain(output if isinstance(output, str) else json.dumps(output), where),
        where,
        tokens_in=tokens(usage.get("prompt")),
        tokens_out=tokens(usage.get("completion")),
        model=model,
        settings={**settings.get(model, {}), **asked.settings},
        error=error,
        item=item_in(variables, fields.get("testIdx")) if isinstance(variables, Mapping) else None,
    ).begun(asked.begun)


STATUS = "Status"
COLUMNS = frozenset({STATUS, "Score", "Named Scores", "Grader Reason"})
"""The columns that follow each column of outputs."""

_VERDICTS = ("[PASS]", "[FAIL]", "[ERROR]")
"""What cells with outputs begin with in versions before these columns."""

_PROMPT = re.compile(
    r"(?:\[(?P<provider>[^\]]*)\] )?(?:(?P<file>\S+\.\w+)(?::\w+)?(?:: |$))?(?P<text>.*)", re.DOTALL
)
"""The name of a column of outputs: the provider, and the prompt's label, by default its file and text."""

_VARIABLE = re.compile(r"\{\{-?\s*(\w+)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")
_FORMULA = re.compile(r"'(?=[\s\u200b-\u200d]*[=@+-])")
"""The mark before what a spreadsheet would take for a formula."""


def is_table(first: Mapping[str, Any]) -> bool:
    """Whether the first row of a table is one of promptfoo's."""
    return first.keys() >= COLUMNS or any(str(value).startswith(_VERDICTS) for value in first.values())


def open_table(source: Source) -> Log:
    """Open a table of results.

    Raises:
        InputError: it lacks the replies or the prompts.
    """
    path = source.path
    if STATUS not in source.first:
        raise _unusable(path, "this version of it mixes replies with the reasons of graders in its CSV files")
    header = next(cells(path)).values
    if header[0] == STATUS:
        raise _unusable(path, f"no column of outputs precedes '{STATUS}'")
    first, *further = (at - 1 for at, name in enumerate(header) if name == STATUS)
    columns = [_Column.of(path, at, header) for at in (first, *further)]
    variables = header[:first]
    return Log("a table of promptfoo", digests(path), partial(_rows, path, variables, columns))


def _unusable(path: Path, problem: str) -> InputError:
    return InputError(
        f"{path}: a table of promptfoo, but {problem}; export JSON, which has all prompts and replies: "
        "promptfoo eval --output results.json, or promptfoo export eval EVAL_ID --output results.json"
    )


class _Column(NamedTuple):
    """A column of outputs: its index, the provider, and the template of the prompt."""

    at: int
    provider: str
    template: str

    @classmethod
    def of(cls, path: Path, at: int, header: Sequence[str]) -> _Column:
        """Read the name of a column.

        Raises:
            InputError: it does not have the whole prompt.
        """
        name = _PROMPT.fullmatch(header[at])
        assert name is not None  # noqa: S101 - every part is optional
        shown = f"column '{fit(header[at])}'"
        if name["file"] and not name["file"].endswith(".txt"):
            raise _unusable(path, f"{shown} has the name of a prompt's file and perhaps a part of its text")
        variables = [*_VARIABLE.finditer(name["text"])]
        if not variables or _TEMPLATE.search(_VARIABLE.sub("", name["text"])):
            raise _unusable(path, f"{shown} is no template that names variables, such as {{{{question}}}}")
        if unknown := [variable[1] for variable in variables if variable[1] not in header]:
            raise _unusable(path, f"no column has the variable '{fit(unknown[0])}' of {shown}")
        return cls(at, name["provider"] or "", name["text"])


def _rows(path: Path, variables: Sequence[str], columns: Sequence[_Column]) -> Iterator[LoggedReply]:
    rows = cells(path)
    next(rows)
    for row, (where, values) in enumerate(rows):
        texts = [_FORMULA.sub("", value, count=1) if _FORMULA.match(value) else value for value in values]
        by_name = dict(zip(variables, texts, strict=False))
        if any(value.startswith("file://") or _TEMPLATE.search(value) for value in by_name.values()):
            raise _unusable(path, f"{where} has a variable that is itself a template or a file")
        for output, (at, provider, template) in enumerate(columns, start=1):
            asked = asked_in(template, where)
            filled = Conversation(
                *(
                    _VARIABLE.sub(lambda variable: by_name[variable[1]], text)  # noqa: B023 - called at once
                    for text in asked
                )
            )
            error = texts[at + 1] == "ERROR"
            yield LoggedReply(
                plain(filled.prompt, where),
                "" if error else plain(texts[at], where),
                where if len(columns) == 1 else f"{where}, output {output}",
                model=provider,
                settings=filled.settings,
                error=fit(texts[at] or "the call failed") if error else "",
                item=item_in(by_name, row),
            ).begun(filled.begun)
