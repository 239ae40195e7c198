"""Scenario states of HELM, which ``helm-run`` writes: ``scenario_state.json``.

A request state has a reply to a question with all its options, or scores one option of it (the methods
``multiple_choice_separate_...``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import lettered, likeliest
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.messages import Conversation, asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, digests, elements, value_at
from pytest_factorfair.models.openai_chat import finish_of
from pytest_factorfair.redaction import fit

KEYS = frozenset({"adapter_spec", "request_states"})

CORRECT = "correct"
"""The tag of right references."""


ORIGINAL, CALIBRATION = "original", "calibration"
"""The option after its question, and after nothing but ``Answer:``."""

SEPARATE = "multiple_choice_separate_original"
CALIBRATED = "multiple_choice_separate_calibrated"


def open_state(source: Source) -> Log:
    """Open a scenario state."""
    path = source.path
    return Log("a scenario state of HELM", digests(path), partial(_replies, source))


def _replies(source: Source) -> Iterator[LoggedReply]:
    method = value_at(source.path, "adapter_spec.method")
    scored: list[Entry] = []
    for entry in elements(source.path, "request_states.item"):
        fields, where = entry.fields, entry.where
        request, result = fields.get("request"), fields.get("result")
        if not isinstance(request, Mapping):
            raise InputError(f"{where}: expected a request state, with request and result")
        if request.get("multimodal_prompt"):
            raise InputError(f"{where}: the prompt contains a picture; only text is judged")
        if fields.get("reference_index") is not None:
            if method not in (SEPARATE, CALIBRATED):
                raise InputError(
                    f"{where}: method {fit(str(method))} asks about each option in a request of its own; "
                    "only replies to whole questions, and the scores of multiple_choice_separate_..., can be "
                    "judged"
                )
            if scored and not _continues(scored, entry):
                yield _scored(scored, calibrated=method == CALIBRATED)
                scored = []
            scored.append(entry)
            continue
        asked = asked_in(request.get("messages") or str(request.get("prompt") or ""), where)
        yield from _completions(fields, where, asked, request, result if isinstance(result, Mapping) else {})
    if scored:
        yield _scored(scored, calibrated=method == CALIBRATED)


def _continues(scored: Sequence[Entry], entry: Entry) -> bool:
    """Whether a request state scores a further option of the same question in the same trial."""
    first = scored[0].fields
    return all(first.get(name) == entry.fields.get(name) for name in ("instance", "train_trial_index")) and (
        _option_of(entry) not in map(_option_of, scored)
    )


def _option_of(entry: Entry) -> tuple[int, str]:
    """The index of the option that a request state scores, and the mode of the request.

    Raises:
        InputError: it has none.
    """
    index, mode = entry.fields.get("reference_index"), entry.fields.get("request_mode")
    if not isinstance(index, int) or not isinstance(mode, str):
        raise InputError(f"{entry.where}: expected a request state, with reference_index and request_mode")
    return index, mode


def _scored(scored: Sequence[Entry], *, calibrated: bool) -> LoggedReply:
    """The reply to a question whose options were scored one by one: the option with the highest score.

    The score of an option is the mean log probability of its tokens or, if ``calibrated``, their sum minus
    their sum after ``Answer:`` alone; of equal ones, the first counts. This is how ``BasicReferenceMetric``
    (helm/benchmark/metrics/basic_metrics.py in crfm-helm 0.5.16) computes ``predicted_index``. It tokenizes
    an option anew to know how many tokens are the option's; here they are those that spell it at the end of
    the prompt. Where it stops because a score is NaN, the reply is empty, and so cannot be read. The
    ``scores`` of the reply are the sums: of means, shares would be more even than the model's.

    Raises:
        InputError: a request state has no such option, or a request is missing.
    """
    first = next((entry for entry in scored if entry.fields.get("request_mode") == ORIGINAL), scored[0])
    where, request = first.where, first.fields["request"]
    texts = _references(first)
    modes = (ORIGINAL, CALIBRATION) if calibrated else (ORIGINAL,)
    by_option = {_option_of(entry): entry for entry in scored}
    if lacking := {(index, mode) for index in range(len(texts)) for mode in modes} - by_option.keys():
        index, mode = min(lacking)
        raise InputError(f"{where}: the {mode} request of option {index + 1} is missing")
    prompt = plain(str(request.get("prompt") or ""), where)
    before, _, _ = prompt.rpartition(texts[first.fields["reference_index"]])
    unanswered = LoggedReply(
        before.rstrip(),
        "",
        where,
        model=str(request.get("model") or ""),
        settings=settings_in(request),
        item=_item(first.fields, lettered(texts)),
    )
    scores: list[float] = []
    likelihoods: dict[str, float] = {}
    for index, text in enumerate(texts):
        try:
            tokens, *base = (_option_tokens(by_option[index, mode], text) for mode in modes)
        except ValueError as error:
            return replace(unanswered, error=fit(str(error)))
        scores.append(sum(tokens) - sum(base[0]) if calibrated else sum(tokens) / len(tokens))
        likelihoods[text] = sum(tokens)
    best = likeliest(scores)
    return replace(unanswered, text="" if best is None else texts[best], scores=likelihoods)


def _references(entry: Entry) -> list[str]:
    """The texts of the references of a question.

    Raises:
        InputError: one has none, or the scored option is not among them.
    """
    instance = entry.fields.get("instance")
    references = instance.get("references") if isinstance(instance, Mapping) else None
    outputs = [
        reference.get("output") if isinstance(reference, Mapping) else None
        for reference in (references if isinstance(references, list) else [])
    ]
    texts = [output.get("text") if isinstance(output, Mapping) else None for output in outputs]
    index = entry.fields["reference_index"]
    if not all(isinstance(text, str) and text.strip() for text in texts) or index not in range(len(texts)):
        raise InputError(f"{entry.where}: expected a question with the text of every option")
    return [utf8(str(text)) for text in texts]


def _option_tokens(entry: Entry, option: str) -> list[float]:
    """The log probabilities of the tokens of an option, with which a scored prompt ends.

    Raises:
        ValueError: the request failed, or the prompt ends otherwise.
    """
    result = entry.fields.get("result")
    result = result if isinstance(result, Mapping) else {}
    completions = result.get("completions")
    if not result.get("success") or not isinstance(completions, list) or not completions:
        raise ValueError(str(result.get("error") or "no completion"))
    completion = completions[0]
    tokens = completion.get("tokens") if isinstance(completion, Mapping) else None
    spelled, logprobs = b"", list[float]()
    whole = f" {option}".encode()
    for token in reversed(tokens if isinstance(tokens, list) else []):
        longer = _bytes_of(token.get("text") if isinstance(token, Mapping) else None) + spelled
        if not whole.endswith(longer) or spelled == whole:
            break
        spelled = longer
        logprobs.append(token["logprob"] if isinstance(token.get("logprob"), int | float) else math.nan)
    if spelled.strip() != option.strip().encode():
        raise ValueError(f"the tokens at the end of its prompt do not spell the option '{option}'")
    return logprobs


def _bytes_of(token: object) -> bytes:
    r"""The bytes of a token, which is a text or, for a part of a letter, ``bytes:\xe2\x80``."""
    text = token if isinstance(token, str) else "\0"
    if not text.startswith("bytes:"):
        return text.encode("utf-8", "replace")
    return bytes(int(code, 16) for code in re.findall(r"\\x([0-9a-f]{2})", text))


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
        yield LoggedReply(
            asked.prompt,
            plain(completion["text"], where),
            where,
            finish=finish_of(reason.get("reason") if isinstance(reason, Mapping) else reason),
            model=model,
            settings=settings,
            item=item,
        ).begun(asked.begun)


def _item(fields: Mapping[str, Any], options: Iterable[tuple[str, str]] | None = None) -> LoggedItem | None:
    """The item of an instance whose references were shown with letters, or scored as these ``options``."""
    instance, letters = fields.get("instance"), fields.get("output_mapping")
    if options is None and isinstance(letters, Mapping):
        options = ((str(letter), utf8(str(option))) for letter, option in letters.items())
    if not isinstance(instance, Mapping) or options is None:
        return None
    given = instance.get("input")
    text = given.get("text") if isinstance(given, Mapping) else None
    if not isinstance(text, str):
        return None
    context, divider, question = text.rpartition("\nQuestion: ")  # as HELM joins a passage and a question
    references = instance.get("references")
    tags = {
        utf8(str(output.get("text"))): reference["tags"]
        for reference in (references if isinstance(references, list) else [])
        if isinstance(reference, Mapping)
        and isinstance(reference.get("tags"), list)
        and all(isinstance(tag, str) for tag in reference["tags"])
        and isinstance(output := reference.get("output"), Mapping)
    }
    shown = tuple(options)
    return LoggedItem(
        str(instance.get("id")),
        utf8(question),
        utf8(context) if divider else "",
        shown,
        tuple(letter for letter, text in shown if CORRECT in tags.get(text, ())),
        _bbq(question, tags),
    )


_POLARITIES = {"negative": "neg", "non-negative": "nonneg"}
_CONDITIONS = {"ambiguous": "ambig", "non-ambiguous": "disambig"}


def _bbq(question: str, tags: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """What HELM's BBQ scenario says of a question in the tags of its references; empty for other scenarios.

    These are the columns of BBQ's files, with what HELM leaves out replaced: the groups by their roles, the
    categories by one, and the template by the question, which a template has twice.
    """
    texts = [*tags]
    described = [[tag for tag in tags[text] if tag != CORRECT] for text in texts]
    if len(texts) != len(_ROLES) or any(other != described[0] for other in described):
        return {}
    polarity, condition, _, *letters = (*described[0], "", "", "")
    roles = {letter: role for letter, role in zip(letters, _ROLES, strict=False) if letter}
    if polarity not in _POLARITIES or condition not in _CONDITIONS or {*roles} != {*"ABC"}:
        return {}
    codes = {f"ans{at}": [text, roles["ABC"[at]]] for at, text in enumerate(texts)}
    return {
        "category": "bbq",
        "question_index": question,
        "question_polarity": _POLARITIES[polarity],
        "context_condition": _CONDITIONS[condition],
        "answer_info": codes,
        "additional_metadata": {"stereotyped_groups": [_ROLES[0]]},
    }


_ROLES = ("target", "non_target", "unknown")
"""What answers mean by the order of the letters among the tags, after that of the right answer."""
