"""Samples of lm-evaluation-harness, which ``--log_samples`` writes: ``samples_TASK_TIME.jsonl``.

The file of results beside them, with the same time, has the model and its settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import are_labels, item_in, likeliest
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.messages import Conversation, asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, digests, opened
from pytest_factorfair.redaction import fit

KEYS = frozenset({"doc_id", "doc", "arguments", "resps"})
RESULTS = "results"
"""The first key of the file of results, which has no replies."""

_SCORED = 2
"""An answer that was scored: its log likelihood, and whether it is the likeliest continuation."""


def open_samples(source: Source) -> Log:
    """Open samples."""
    results_file, results = _results(source.path)
    version = results.get("lm_eval_version") or ""
    config = results.get("config")
    model = results.get("model_name")
    return Log(
        f"samples of lm-evaluation-harness {version}".rstrip(),
        digests(*filter(None, (source.path, results_file))),
        partial(
            _replies,
            source,
            model if isinstance(model, str) else "",
            settings_in(config.get("gen_kwargs")) if isinstance(config, Mapping) else {},
            results.get("system_instruction"),
        ),
    )


_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)")


def task_of(path: Path) -> str | None:
    """The task whose samples a file has, by its name; None if it has another name."""
    name = _NAME.fullmatch(path.stem)
    return name["task"] if name else None


def _results(samples: Path) -> tuple[Path | None, Mapping[str, Any]]:
    """The file of results of the same time, if it is there, and its content.

    Raises:
        InputError: it is damaged.
    """
    name = _NAME.fullmatch(samples.stem)
    path = samples.with_name(f"results_{name['time']}.json") if name else None
    if path is None or not path.exists():
        return None, {}
    with opened(path) as file:
        try:
            results = json.load(file)
        except (ValueError, RecursionError):
            raise InputError(f"{path}: it is not JSON: restore it, or remove it") from None
    return path, results if isinstance(results, Mapping) else {}


def _replies(
    source: Source, model: str, settings: Mapping[str, Any], system: object
) -> Iterator[LoggedReply]:
    system_settings = Conversation("", system).settings if isinstance(system, str) else {}
    for entry in _samples(source):
        calls = _calls(entry)
        resps = entry.fields["resps"]
        if not (
            isinstance(resps, list)
            and len(resps) == len(calls)
            and all(isinstance(responses, list) and responses for responses in resps)
        ):
            raise InputError(f"{entry.where}: it has more or fewer responses than requests")
        if _is_scored(resps[0][0]):
            yield _scored(entry, calls, resps, model, {**settings, **system_settings})
            continue
        for (context, generation), responses in zip(calls, resps, strict=True):
            asked = asked_in(context, entry.where)
            all_settings = {**settings, **settings_in(generation), **system_settings, **asked.settings}
            for text in responses:
                if not isinstance(text, str):
                    raise InputError(f"{entry.where}: 'resps' has no text, but {fit(repr(text))}")
                yield LoggedReply(
                    asked.prompt,
                    plain(text, entry.where),
                    entry.where,
                    model=model,
                    settings=all_settings,
                    item=_item(entry),
                ).begun(asked.begun)


def _samples(source: Source) -> Iterator[Entry]:
    """The samples with the filter that comes first: the others read the same replies again.

    Raises:
        InputError: an entry is no sample, or a document has only another filter.
    """
    first_filter = source.first.get("filter")
    read: set[str] = set()
    others: dict[str, str] = {}
    for entry in source.entries():
        if not entry.fields.keys() >= KEYS:
            raise InputError(f"{entry.where}: expected a sample, with {', '.join(sorted(KEYS))}")
        document = str(entry.fields["doc_id"])
        if entry.fields.get("filter") == first_filter:
            read.add(document)
            yield entry
        else:
            others.setdefault(document, entry.where)
    for document, where in others.items():
        if document not in read:
            raise InputError(f"{where}: doc_id {fit(document)} lacks filter '{fit(str(first_filter))}'")


def _calls(entry: Entry) -> list[tuple[str, object]]:
    """The requests of a sample: a context, and how to generate or the continuation to score."""
    arguments = entry.fields["arguments"]
    listed = [*arguments.values()] if isinstance(arguments, Mapping) else arguments
    calls: list[tuple[str, object]] = []
    for call in listed if isinstance(listed, list) else ():
        values = [*call.values()] if isinstance(call, Mapping) else call
        context, following = [*values, None, None][:2] if isinstance(values, list) else (values, None)
        if isinstance(context, list) and len(context) == 1:  # messages, as JSON in a list
            (context,) = context
        if not isinstance(context, str):
            raise InputError(f"{entry.where}: 'arguments' has no prompt, but {fit(repr(context))}")
        calls.append((context, following))
    if not calls:
        raise InputError(f"{entry.where}: 'arguments' has no request")
    return calls


def _is_scored(response: object) -> bool:
    return isinstance(response, list) and len(response) == _SCORED


def _scored(
    entry: Entry,
    calls: list[tuple[str, object]],
    resps: list[Any],
    model: str,
    settings: Mapping[str, Any],
) -> LoggedReply:
    """The reply to a question whose options were scored: the likeliest one, as the tool counts it.

    It is empty, and so cannot be read, if a log likelihood is NaN, of which the tool would choose the first.

    Raises:
        InputError: it is no question with options, or a score is no number.
    """
    try:
        scores = [float(response[0][0]) for response in resps]
    except (TypeError, ValueError, LookupError, OverflowError):
        raise InputError(f"{entry.where}: 'resps' has no log likelihoods") from None
    options = [str(continuation).strip() for _, continuation in calls]
    prompts = [context for context, _ in calls]
    item = _item(entry, scored=options, prompt=prompts[0])
    unknown = item is None and not are_labels(options)  # the prompt may have the options of labels
    if any(former != latter for former, latter in pairwise(prompts)) or unknown:
        raise InputError(
            f"{entry.where}: it scores {len(options)} texts that are not the options of one question; "
            "only questions with options, and generated replies, can be judged"
        )
    best = likeliest(scores)
    return LoggedReply(
        plain(prompts[0], entry.where),
        "" if best is None else options[best],
        entry.where,
        scores=dict(zip(options, scores, strict=True)),
        model=model,
        settings=settings,
        item=item,
    )


def _item(entry: Entry, *, scored: list[str] | None = None, prompt: str = "") -> LoggedItem | None:
    """The item of a sample; of one whose options were ``scored``, its question may be in the prompt alone."""
    document = entry.fields["doc"]
    if not isinstance(document, Mapping):
        return None
    name = document.get("example_id", entry.fields["doc_id"])
    if scored is None:
        return item_in(document, name)
    target = entry.fields.get("target")
    index = int(target) if isinstance(target, str) and re.fullmatch(r"\d{1,3}", target) else target
    if are_labels(scored):
        return item_in(document, name, target=index)
    worded = isinstance(document.get("question"), str)
    asked = document if worded else {**document, "question": prompt}
    return item_in(asked, name, options=scored, target=index)
