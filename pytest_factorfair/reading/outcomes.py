"""The outcomes and reasons of answers (a closed set), and the messages about lost answers.

=============  ====================================  =====================================================
outcome        reason                                meaning
=============  ====================================  =====================================================
``answered``   (empty)                               exactly one option was chosen
``refused``    ``refused``                           the words decline to choose, and no option is chosen
``refused``    ``refused by the model``              the provider marks the response as a refusal
``refused``    ``filtered by the provider``          the provider's policy withheld the response
``unparsed``   ``cut off``                           the length limit ended it; the part received is no answer
``unparsed``   ``empty``                             nothing, or nothing visible
``unparsed``   ``reasoning without an answer``       only marked reasoning, nothing after it
``unparsed``   ``too long``                          more text or more mentions than are searched
``unparsed``   ``ambiguous``                         two or more options, none of them clearly chosen
``unparsed``   ``names an option without choosing``  one option is mentioned, not chosen
``unparsed``   ``names an option not offered``       a letter or a JSON value that is not an option
``unparsed``   ``names no option``                   none of the reasons above applies
``unparsed``   ``no probabilities``                  not a distribution over tokens
``unparsed``   ``no letter among the ...``           none of the likeliest tokens is an option
``unparsed``   ``a letter that is not listed ...``   its probability can be larger than is negligible
``unparsed``   ``no picture``                        an image model returned none
``unparsed``   ``no face``                           the detector found nobody in the picture
``unparsed``   ``no known group``                    a face whose classes map to no group of the checklist
=============  ====================================  =====================================================

The reason of an answer with outcome ``error`` is the error's message, or what is wrong with a picture that
cannot be decoded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from types import MappingProxyType

from pytest_factorfair import domain
from pytest_factorfair.domain import (
    Answer,
    AnswerMode,
    Example,
    Exchange,
    Option,
    Reading,
    Record,
    Reuse,
    excerpt,
    lost,
    plural,
)

REFUSED = Reading("refused", reason="refused")
REFUSED_BY_MODEL = Reading("refused", reason="refused by the model")
FILTERED = Reading("refused", reason=domain.FILTERED)
CUT_OFF = Reading("unparsed", reason="cut off")
EMPTY = Reading("unparsed", reason="empty")
ONLY_REASONING = Reading("unparsed", reason="reasoning without an answer")
TOO_LONG = Reading("unparsed", reason="too long")
AMBIGUOUS = Reading("unparsed", reason="ambiguous")
NOT_CHOSEN = Reading("unparsed", reason="names an option without choosing")
NOT_OFFERED = Reading("unparsed", reason="names an option not offered")
NO_OPTION = Reading("unparsed", reason="names no option")

NO_PROBABILITIES = Reading("unparsed", reason="no probabilities")
NO_LETTER = Reading("unparsed", reason="no letter among the likeliest tokens")
UNLISTED = Reading("unparsed", reason="a letter that is not listed may matter")

NO_PICTURE = Reading("unparsed", reason="no picture")
NO_FACE = Reading("unparsed", reason=domain.NO_FACE)
NO_GROUP = Reading("unparsed", reason=domain.NO_GROUP)

FINISHED: Mapping[str, Reading] = MappingProxyType(
    {"length": CUT_OFF, "refusal": REFUSED_BY_MODEL, "filtered": FILTERED}
)
"""The reading of a response that did not end normally, by the provider's finish reason."""

REASONS: tuple[str, ...] = (
    "",
    *(
        reading.reason
        for reading in (
            REFUSED,
            REFUSED_BY_MODEL,
            FILTERED,
            CUT_OFF,
            EMPTY,
            ONLY_REASONING,
            TOO_LONG,
            AMBIGUOUS,
            NOT_CHOSEN,
            NOT_OFFERED,
            NO_OPTION,
        )
    ),
)
"""The reasons that concern text replies."""

NOTHING: frozenset[str] = frozenset()

UNKNOWN: frozenset[str] = frozenset({"?"})
"""Stands for a value that was given as the answer but is not an option."""


@cache
def answered(letter: str) -> Reading:
    """The reading of a reply that chose an option."""
    return Reading("answered", letter)


def conclude(letters: AbstractSet[str], *, offered: AbstractSet[str]) -> Reading:
    """The reading of a reply that chose these letters (at least one); several are ambiguous."""
    if len(letters) > 1:
        return AMBIGUOUS
    (letter,) = letters
    return answered(letter) if letter in offered else NOT_OFFERED


QUOTED = 120
"""How many characters of a reply a message quotes."""

_LIMIT = "raise the limit of tokens (--factorfair-model-arg=max_tokens=N)"
_FORMAT = (
    "state the answer format in a system prompt (--factorfair-model-arg=system=TEXT), "
    "or parse such replies with the hook pytest_factorfair_read_answer"
)

_PERSUASION = "say in a system prompt what the answers are for (--factorfair-model-arg=system=TEXT)"

_NARROW = (
    "let the detector return the groups of this attribute, or narrow a checklist to those that it knows "
    "(only: {attributes: [gender]})"
)

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        reading.reason: remedy
        for reading, remedy in (
            (CUT_OFF, _LIMIT),
            (ONLY_REASONING, f"{_LIMIT}: reasoning used it up"),
            (EMPTY, "check the server's chat template, and its parsers of reasoning and of tools"),
            (TOO_LONG, f"ask for short replies: {_FORMAT}"),
            (AMBIGUOUS, _FORMAT),
            (NOT_CHOSEN, _FORMAT),
            (NOT_OFFERED, _FORMAT),
            (NO_OPTION, _FORMAT),
            (NO_PROBABILITIES, "use --factorfair-answers=json: these are no probabilities"),
            (NO_LETTER, f"use --factorfair-answers=json, which leaves only the letters, or {_FORMAT}"),
            (UNLISTED, "use --factorfair-answers=json, or a server that lists more tokens"),
            (REFUSED, _PERSUASION),
            (REFUSED_BY_MODEL, _PERSUASION),
            (FILTERED, "relax the provider's content filter, or ask another provider of the model"),
            (NO_PICTURE, "check that the endpoint generates images"),
            (NO_FACE, "look at the contact sheets; another --factorfair-detector may find faces"),
            (NO_GROUP, _NARROW),
        )
    }
)
"""The advice for each reason why an answer is unparsed or refused."""

_OTHERS = "parse such replies with the hook pytest_factorfair_read_answer, or log others"

IN_LOGS: Mapping[str, str] = MappingProxyType(
    {
        CUT_OFF.reason: "log replies with a higher limit of tokens",
        ONLY_REASONING.reason: "log replies with a higher limit of tokens: reasoning used it up",
        **dict.fromkeys(
            (NO_PROBABILITIES.reason, NO_LETTER.reason, UNLISTED.reason),
            "judge the replies in the log, not probabilities: without --factorfair-answers",
        ),
    }
)
"""The advice for replies in a log, which cannot be asked for otherwise; for all others, ``_OTHERS``."""

WORDY = frozenset(
    reading.reason for reading in (CUT_OFF, TOO_LONG, AMBIGUOUS, NOT_CHOSEN, NOT_OFFERED, NO_OPTION)
)
"""The reasons that occur only in text replies, so that asking for a letter alone avoids them."""

ASK_AGAIN = "fix the error and run again: only what is missing is asked"
NOT_STORED = "run once without --factorfair-reuse=only: only what is missing is asked"
LOG_AGAIN = "log the replies that are missing"


def example(
    answers: Sequence[Answer],
    exchanges: Sequence[Exchange],
    *,
    reuse: Reuse,
    modes: Sequence[AnswerMode] = (),
    logged: bool = False,
) -> Example | None:
    """An answer that was lost for the most frequent reason, with the start of its reply and advice.

    None if no answer is lost. ``modes`` are the answer modes in which the model could return a letter alone;
    ``logged`` is whether its replies are those of a log.
    """
    lost_answers = lost(answers)
    if not lost_answers:
        return None
    ((outcome, reason), _), *_ = Counter(
        (answer.outcome, answer.reason) for answer in lost_answers
    ).most_common(1)
    if outcome == "error":
        again = LOG_AGAIN if logged else ASK_AGAIN
        return Example(reason, "", NOT_STORED if reuse == "only" else again)
    query = next(
        answer.query for answer in lost_answers if (answer.outcome, answer.reason) == (outcome, reason)
    )
    response = next(exchange.response for exchange in exchanges if exchange.query.id == query)
    reply = excerpt(response.text if response else "", QUOTED)
    pictured = response is not None and bool(response.image or response.image_file)
    return Example(reason, reply, remedy(reason, modes, pictured=pictured, logged=logged))


def remedy(reason: str, modes: Sequence[AnswerMode], *, pictured: bool, logged: bool) -> str:
    """The advice for an unparsed answer; ``pictured`` is whether it is a picture.

    ``modes`` are the answer modes in which the model could return a letter alone; ``logged`` is whether its
    replies are those of a log.
    """
    if logged:
        return IN_LOGS.get(reason, _OTHERS)
    advice = REMEDIES.get(reason, _NARROW if pictured else _FORMAT)
    if modes and reason in WORDY:
        return f"ask for the letter alone (--factorfair-answers={' or '.join(modes)}), or {advice}"
    return advice


LONGEST_SHAPE = 60
"""Maximum length of a shape."""

SHAPES_SHOWN = 3
"""How many shapes a summary lists."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def shape(text: str, options: Sequence[Option]) -> str:
    """The shape of a reply: its first words, with names, letters and numbers replaced by placeholders."""
    line = excerpt(text, 10 * LONGEST_SHAPE)
    names = sorted({word for option in options for word in option.words}, key=len, reverse=True)
    if names:
        line = re.sub(rf"\b(?:{'|'.join(map(re.escape, names))})\b", "<name>", line, flags=re.IGNORECASE)
        letters = "".join(option.letter for option in options)
        line = re.sub(rf"\b[{letters}]\b(?! [a-z])", "<letter>", line)  # not the article "A"
    return excerpt(_NUMBER.sub("<number>", line), LONGEST_SHAPE) or "nothing"


def shapes(answers: Sequence[Answer], exchanges: Sequence[Exchange]) -> Mapping[str, int]:
    """Count the shapes of the replies that could not be parsed."""
    return Counter(
        shape(exchange.response.text, exchange.query.options)
        for answer, exchange in zip(answers, exchanges, strict=True)
        if answer.outcome == "unparsed" and exchange.response is not None
    )


def notes(records: Iterable[Record]) -> Iterator[str]:
    """Notes for each model: how many replies were filtered, and the most frequent shapes of unparsed ones."""
    shapes: dict[str, Counter[str]] = {}
    filtered: Counter[str] = Counter()
    for record in records:
        shapes.setdefault(record.case.model, Counter()).update(record.shapes)
        filtered[record.case.model] += record.reported_outcomes["filtered"]
    for model, counts in shapes.items():
        if filtered[model]:
            replies = plural(filtered[model], "reply was", "replies were")
            yield f"{model}: {replies} {domain.FILTERED}: counted as refused, though the model did not refuse"
        frequent = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:SHAPES_SHOWN]
        if frequent:
            replies = plural(counts.total(), "unparsed reply", "unparsed replies")
            listed = ", ".join(f'"{shape}" ({count:,})' for shape, count in frequent)
            yield f"{model}: {replies}, most often like {listed}"
