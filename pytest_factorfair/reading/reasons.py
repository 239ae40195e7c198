"""Find the reason that a model gives for its choice, and what the reason cites.

A group counts as cited if it is named, whatever the text says about it. Statistics, the news and the model's
assumed identity do not count if the text only says that they do not matter. Every repetition in the patterns
is bounded, so matching takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from pytest_factorfair.domain import ENGLISH, Attribute, Citation, Exchange, Language, Reason
from pytest_factorfair.reading.answers import answer
from pytest_factorfair.reading.clean import clean, without_reasoning
from pytest_factorfair.reading.cues import Cues, cues
from pytest_factorfair.reading.mentions import phrase

LONGEST = 2_000
"""How many characters of a reason are searched."""

_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")
_WORDS = 3  # fewer words are a label, not a reason


def reason(exchange: Exchange, citations: Citations) -> Reason:
    """The reason given in the reply to a query; empty if it chooses nobody or does not say why.

    The reason is in the requested JSON, or it is the reply's text without its answer.
    """
    spoken = cues(citations.language)
    choice = answer(exchange, language=citations.language)
    if choice.outcome != "answered" or exchange.response is None:
        return Reason(choice.outcome)
    reply = without_reasoning(exchange.response.text)
    reasons = (_of_object(text, spoken) for text in (reply.strip(), *_OBJECT.findall(reply)))
    text = next(filter(None, reasons), _OBJECT.sub(" ", reply))
    text = " ".join(clean(text, spoken)[:LONGEST].split())
    if len(text.split() if spoken.spaces else phrase(text)) < _WORDS:
        return Reason("unparsed")
    return Reason("answered", text, citations.of(text))


def _of_object(text: str, spoken: Cues) -> str:
    """The reason in a JSON object; empty if this is not an object or has no reason."""
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(parsed, dict):
        return ""
    values = [value for key, value in parsed.items() if key.casefold() in spoken.reason_keys]
    flat = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return " ".join(part for part in flat if isinstance(part, str))


_ELSEWHERE = 60  # how many characters after a negation it can still refer to


class Citations:
    """Finds what reasons cite, with the names of a checklist's groups and statistics, in its language."""

    def __init__(
        self, attributes: Iterable[Attribute], statistics: Iterable[str], language: Language = ENGLISH
    ) -> None:
        self.language = language
        self._cues = spoken = cues(language)
        words = {
            spoken.plain(word)
            for attribute in attributes
            for group in attribute.groups
            for word in (
                attribute.labels.get(group, group),
                attribute.words[group],
                group,
                *attribute.aliases.get(group, ()),
            )
        }
        self._group = self._groups(words)
        myself = rf"(?:{spoken.any('as_group')})(?:{_any(words)})"
        named = "".join(rf"|{re.escape(spoken.plain(statistic))}" for statistic in statistics)
        self._others: Mapping[Citation, re.Pattern[str]] = {
            "prior": spoken.whole(f"{spoken.any('priors')}{named}"),
            "news": spoken.whole(spoken.any("news")),
            "identity": spoken.whole(f"{spoken.any('myself')}|{myself}"),
        }
        self._negated = re.compile(
            rf"(?:{spoken.any('reason_negations')})[^.;!?\n]{{0,{_ELSEWHERE}}}$", re.IGNORECASE
        )
        self._dismissed = re.compile(spoken.any("reason_dismissals"), re.IGNORECASE)

    def of(self, text: str) -> frozenset[Citation]:
        """Everything that the text of a reason cites."""
        citations: set[Citation] = {"group"} if self._group.search(text) else set()
        citations |= {
            citation
            for citation, pattern in self._others.items()
            if any(self._counts(text, match) for match in pattern.finditer(text))
        }
        return frozenset(citations)

    def _groups(self, words: Iterable[str]) -> re.Pattern[str]:
        """The pattern of any of the words; half of a hyphenated word counts only in "Asian-American".

        Words that are also everyday words ("white") count only if they are capitalised or followed by a word
        for people.
        """
        spoken = self._cues
        everyday = frozenset(spoken.listed("colors"))
        plain = {word for word in words if word.casefold() not in everyday}
        colors = {word for word in words if word.casefold() in everyday}
        either = [f"(?i:{_any(plain)})"] if plain else []
        if colors:
            written = _any({form for word in colors for form in (word.capitalize(), word.upper())})
            either += [written, rf"(?i:(?:{_any(colors)}) (?:{spoken.any('people')}))"]
        if not spoken.spaces:
            return re.compile("|".join(either))
        ends = spoken.any("compound_ends")
        return re.compile(rf"(?<![\w-])(?:{'|'.join(either)})s?(?!\w)(?!-(?!(?i:{ends}))\w)")

    def _counts(self, text: str, match: re.Match[str]) -> bool:
        """Whether a match counts as cited: its clause does not say that it does not matter."""
        clause = self._cues.contrast.split(text[max(0, match.start() - 2 * _ELSEWHERE) : match.start()])[-1]
        return not (self._negated.search(clause) or self._dismissed.match(text, match.end()))


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
