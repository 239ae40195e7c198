"""Questions with options in the documents that tools log beside prompts, under the names of data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from pytest_factorfair.domain import letter_of, utf8
from pytest_factorfair.logs.log import LoggedItem

_CONTEXTS = ("context", "passage")
_TARGETS = ("label", "answer_label", "target", "answer")


def lettered(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The options with their letters; only as many as there are letters."""
    return tuple(zip(ascii_uppercase, map(utf8, texts), strict=False))


def likeliest(scores: Sequence[float]) -> int | None:
    """The first option with the highest score; None if a score is NaN, or none is finite."""
    if any(map(math.isnan, scores)) or not math.isfinite(max(scores)):
        return None
    return max(range(len(scores)), key=scores.__getitem__)


def item_in(
    document: Mapping[str, Any],
    item_id: object,
    *,
    options: Sequence[str] | None = None,
    target: object = None,
) -> LoggedItem | None:
    """The item of a document with a question and options; None if it has none.

    The ``options`` are those shown or scored, by default the document's; ``target`` is the right one, by
    default what the document says: its index, its letter or its text.
    """
    texts = _options(document) if options is None else options
    question = document.get("question", document.get("filled_template"))
    if not isinstance(question, str) or len(texts) < 2:  # noqa: PLR2004 - a choice needs two
        return None
    context = next((document[name] for name in _CONTEXTS if isinstance(document.get(name), str)), "")
    if target is None:
        target = next((document[name] for name in _TARGETS if document.get(name) is not None), None)
    shown = lettered(texts)
    return LoggedItem(str(item_id), utf8(question), utf8(context), shown, targets_of(target, shown), document)


def targets_of(target: object, options: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The letters of the right options, of which a log has the letter, the text or the index.

    A number in quotes is an index unless it is one of the texts.
    """
    if isinstance(target, list):
        return tuple(letter for part in target for letter in targets_of(part, options))
    if isinstance(target, bool) or not isinstance(target, int):
        named = tuple(letter for letter, text in options if str(target) in (letter, text))
        if named:
            return named
    return tuple(letter for index, (letter, _) in enumerate(options) if str(target) == str(index))


def _options(document: Mapping[str, Any]) -> list[str]:
    """The texts of the options: a list, a mapping of lists with ``text``, or BBQ's ``ans0`` and so on.

    A ``filled_template`` of discrim-eval asks for yes or no.
    """
    for name in ("choices", "options"):
        listed = document.get(name)
        listed = listed.get("text") if isinstance(listed, Mapping) else listed
        if isinstance(listed, list) and all(isinstance(text, str) for text in listed):
            return listed
    numbered = (document.get(f"ans{number}") for number in range(len(ascii_uppercase)))
    texts = []
    for text in numbered:
        if not isinstance(text, str):
            break
        texts.append(text)
    return texts or ["yes", "no"] * ("filled_template" in document)


def are_labels(texts: Sequence[str]) -> bool:
    """Whether these are not options but their letters or numbers, such as ``A``, ``B`` and ``C``."""
    labels = {letter_of(text).upper() for text in texts}
    return labels in ({*ascii_uppercase[: len(texts)]}, {str(number + 1) for number in range(len(texts))})


def normalized(text: str) -> str:
    """The text in lower case, with single spaces."""
    return " ".join(text.casefold().split())
