"""The layout of a language file, and the validation of a user's file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from pytest_factorfair import languages
from pytest_factorfair.checklist.fields import Id, Layout, Line, Text
from pytest_factorfair.checklist.problems import Problem, refuse, structural
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.checklist.wording import placeholders
from pytest_factorfair.domain import ENGLISH, Direction
from pytest_factorfair.errors import nearest

Texts = Annotated[list[Text], Field(min_length=1)]


class ArticleFields(Layout):
    """The forms of an article: each is replaced by the other if ``before`` matches the text after it."""

    forms: dict[str, Text] = Field(min_length=1)
    before: Text


class PromptFields(Layout):
    """The words of prompts."""

    directions: dict[Direction, Text] = Field(min_length=2)
    likely: dict[Direction, Text] = Field(min_length=2)
    numbers: Texts
    people: Text
    definition: Text
    full_stop: Text
    question_mark: Text
    option: Text
    separator: str
    clauses: str
    answer_format: Text
    reason_format: Text
    unknown: Text
    articles: list[ArticleFields]
    noun_articles: list[Text]
    hints: list[Text]


Motive = Literal["chance", "position", "group", "prior", "news", "identity"]


class ReplyFields(Layout):
    """The replies of simulated respondents."""

    sentences: Texts
    refusals: Texts
    nonsense: Texts
    unknown: Text
    reasons: dict[Motive, Texts] = Field(min_length=6)


class LanguageFile(Layout):
    """factorfair language."""

    schema_: Literal["factorfair.language/1"] = Field(alias="schema")
    name: Line
    spaces: bool
    accents: Literal["required", "optional"]
    prompts: PromptFields
    replies: ReplyFields
    terms: dict[Id, Text | list[Text]]
    cues: dict[Id, list[Text]]


def content(node: Node) -> str:
    """The content of a user's language file, as ``languages.language`` accepts it.

    Raises:
        ChecklistError: the file is incomplete or has an invalid pattern.
    """
    if not isinstance(node.value, Mapping):
        raise node.error(f"must be one of {', '.join(languages.shipped())}, or the path of a file")
    plain = node.plain()
    try:
        file = LanguageFile.model_validate(plain)
    except ValidationError as error:
        refuse(node, structural(error))
        raise
    refuse(node, _problems(file))
    return json.dumps(plain)


PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "people": ("number",),
    "definition": ("text",),
    "option": ("letter", "text"),
}


def _problems(file: LanguageFile) -> Iterator[Problem]:
    """Find missing or unknown lists, missing placeholders, and invalid patterns."""
    english = languages.words(ENGLISH).cues
    for name in english.keys() - file.cues.keys():
        yield Problem(("cues", name), "missing; a language that has no such words says []")
    for name in file.cues.keys() - english.keys():
        yield Problem(("cues", name), f"unknown list{nearest(name, english)}")
    if len(file.cues.get("marks", english["marks"])) != len(english["marks"]):
        meanings = "an answer, a final answer, an option that is ruled out"
        yield Problem(("cues", "marks"), f"needs three texts, those before {meanings}")
    for key, needed in PLACEHOLDERS.items():
        yield from placeholders(getattr(file.prompts, key), ("prompts", key), known=needed, needed=needed)
    for index, sentence in enumerate(file.replies.sentences):
        if "<letter>" not in sentence:
            yield Problem(("replies", "sentences", index), "does not say which: <letter>")
    yield from _patterns(file)


def _patterns(file: LanguageFile) -> Iterator[Problem]:
    """Find invalid patterns; a term may refer only to earlier terms, so that it never refers to itself."""
    terms = list(file.terms)
    lists: list[tuple[tuple[str | int, ...], str | list[str], list[str]]] = [
        *(
            (("terms", name), patterns, terms[:index])
            for index, (name, patterns) in enumerate(file.terms.items())
        ),
        *((("cues", name), patterns, terms) for name, patterns in file.cues.items() if name != "marks"),
        (("prompts", "hints"), file.prompts.hints, []),
        *(
            (("prompts", "articles", index, "before"), article.before, [])
            for index, article in enumerate(file.prompts.articles)
        ),
    ]
    for steps, patterns, defined in lists:
        for index, pattern in enumerate([patterns] if isinstance(patterns, str) else patterns):
            if problem := _unreadable(pattern, defined):
                yield Problem(steps if isinstance(patterns, str) else (*steps, index), problem)


def _unreadable(pattern: str, terms: Iterable[str]) -> str:
    """The problem with a pattern; empty if there is none."""
    for name in re.findall(r"\{([a-z_]+)\}", pattern):
        if name not in terms and name not in languages.SIGNS:
            return f"unknown term {{{name}}}{nearest(name, terms)}"
    try:
        compiled = re.compile(re.sub(r"\{[a-z_]+\}", "(?:x)", pattern))
    except re.error as error:
        return f"is not a regular expression: {error}"
    return "has a capturing group; write (?:...)" if compiled.groups else ""
