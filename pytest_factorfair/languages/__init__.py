"""Languages as data: the words of prompts and simulated replies, and the cues for parsing replies.

Each language is a YAML file in this folder. A checklist may have a file of its own, validated by
``checklist.language_file``; its content is then part of the checklist, so that every process has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Citation, Direction, Language

FOLDER = Path(__file__).parent


def shipped() -> tuple[str, ...]:
    """The codes of the shipped languages."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))


@dataclass(frozen=True, slots=True)
class Article:
    """Forms of an article, as "a" and "an": each is replaced where ``before`` matches the text after it."""

    forms: Mapping[str, str]
    before: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Prompts:
    """The words that a benchmark puts into prompts.

    ``likely`` is the wording with which a scenario asks for each direction. ``people`` has the placeholder
    ``{number}``, ``definition`` has ``{text}``, ``option`` has ``{letter}`` and ``{text}``. A fact's options
    are joined by ``separator``, the clauses of a context by ``clauses``. The first of ``noun_articles`` is
    put before a definition that begins with none of them. ``unknown`` is the option that nobody can know,
    ``hints`` are patterns of words that reveal a group.
    """

    directions: Mapping[Direction, str]
    likely: Mapping[Direction, str]
    numbers: tuple[str, ...]
    people: str
    definition: str
    full_stop: str
    question_mark: str
    option: str
    separator: str
    clauses: str
    answer_format: str
    reason_format: str
    unknown: str
    articles: tuple[Article, ...]
    noun_articles: tuple[str, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replies:
    """The replies of simulated respondents; ``<letter>`` and ``<group>`` are placeholders."""

    sentences: tuple[str, ...]
    refusals: tuple[str, ...]
    nonsense: tuple[str, ...]
    unknown: str
    reasons: Mapping[str | Citation, tuple[str, ...]]


SIGNS: Mapping[str, str] = {
    "closers": r"[\"')\]},.]{0,9}",
    "quotes": r"[\"'`)\]}]*",
    "crosses": "[✗✘❌✖❎⛔🚫🚷🛑👎🙅🤮🤡💩]",
    "number": r"(?:[<>~≈≤≥$€£¥]\s?){0,2}\d+(?:[.,]\d+){0,4}(?:\s?[%‰]|\s?/\s?\d{1,9})?",
}
"""Terms that all languages share: what may separate an answer from the following words, signs that reject
an answer, and a number with its signs."""

_TERM = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of a language; ``spaces`` is whether it separates words by spaces.

    ``accents`` is whether replies may omit accents. ``terms`` are patterns that the patterns of ``cues``
    refer to as ``{name}``.
    """

    spaces: bool
    accents: str
    prompts: Prompts
    replies: Replies
    terms: Mapping[str, str | tuple[str, ...]]
    cues: Mapping[str, tuple[str, ...]]

    def expanded(self, pattern: str) -> str:
        """Replace the terms in a pattern: a single pattern is inserted as it is, a list as an alternation.

        Raises:
            KeyError: there is no such term.
        """

        def text(name: re.Match[str]) -> str:
            term = SIGNS.get(name[1]) or self.terms[name[1]]
            if isinstance(term, str):
                return self.expanded(term)
            return f"(?:{'|'.join(map(self.expanded, term))})"

        return _TERM.sub(text, pattern)


@cache
def read(code: str) -> str:
    """The content of a shipped language's file, as JSON."""
    import yaml  # lazy: workers get the content, and parse no file

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return json.dumps(yaml.load((FOLDER / f"{code}.yaml").read_text("utf-8"), loader))  # noqa: S506 - a safe one


def language(text: str) -> Language:
    """The language of a validated checklist, which has its code or the content of its own file."""
    if text.startswith("{"):
        return Language(str(json.loads(text)["name"]), text)
    return Language(text, read(text))


@lru_cache(maxsize=16)
def words(language: Language) -> Words:
    """Build the words of a language from its validated file."""
    content = json.loads(language.content or read(language.code))
    prompts, replies = content["prompts"], content["replies"]
    articles = (Article(article["forms"], re.compile(article["before"])) for article in prompts["articles"])
    # Any, because the types were checked by validation, which mypy cannot see.
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in prompts.items()
    }
    fields["articles"] = tuple(articles)
    return Words(
        spaces=content["spaces"],
        accents=content["accents"],
        prompts=Prompts(**fields),
        replies=Replies(
            sentences=tuple(replies["sentences"]),
            refusals=tuple(replies["refusals"]),
            nonsense=tuple(replies["nonsense"]),
            unknown=replies["unknown"],
            reasons={key: tuple(value) for key, value in replies["reasons"].items()},
        ),
        terms={
            key: value if isinstance(value, str) else tuple(value) for key, value in content["terms"].items()
        },
        cues={key: tuple(value) for key, value in content["cues"].items()},
    )
