"""Problems of a checklist: collected by validation, reported as an error of one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING

from pytest_factorfair.checklist.fields import GROUP, ID, LINE, PLACEHOLDER
from pytest_factorfair.checklist.source import Node, Step
from pytest_factorfair.errors import nearest

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_KINDS = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}

_TEXTS = {
    "missing": "missing",
    "value_error": "{error}",
    "string_too_short": "must not be empty",
    "too_short": "needs at least {min_length}, has {actual_length}",
    "too_long": "takes at most {max_length}, has {actual_length}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}

_PATTERNS = {
    ID: "must be made of a-z, 0-9 and _",
    PLACEHOLDER: "must be made of a-z and _",
    LINE: "must be one line of text",
    GROUP: "must be one line of text without commas and braces",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, and the steps that lead to its value in the merged checklist."""

    steps: tuple[Step, ...]
    text: str


def unknown(name: str, names: Iterable[str], kind: str, steps: tuple[Step, ...]) -> Iterator[Problem]:
    """Yield a problem if a name is unknown."""
    if name not in names:
        yield Problem(steps, f"unknown {kind} '{name}'{nearest(name, names)}")


def refuse(root: Node, problems: Iterable[Problem]) -> None:
    """Raise the first problem by file and line, if there is one.

    Raises:
        ChecklistError: there is a problem; the message also says how many more there are.
    """
    listed_problems = list(problems)
    errors = []
    for problem in listed_problems:
        node, beyond = root.find(problem.steps)
        further = f" (and {len(listed_problems) - 1} more)" if len(listed_problems) > 1 else ""
        errors.append(node.error(problem.text + further, beyond=beyond))
    if errors:
        raise min(errors, key=lambda error: (str(error.path), error.line or 0))


def structural(error: ValidationError) -> list[Problem]:
    """Convert pydantic's errors to problems, in our wording."""
    problems = []
    for detail in error.errors(include_url=False):
        steps = detail["loc"]
        if detail["type"] == "unknown_key":
            problems.append(Problem((*steps, detail["ctx"]["key"]), detail["msg"]))
        elif steps and steps[-1] == "[key]":  # pydantic's marker for an invalid key
            problems.append(Problem(steps[:-1], f"the name {_text(detail)}"))
        else:
            problems.append(Problem(steps, _text(detail)))
    return problems


def _text(detail: ErrorDetails) -> str:
    """The message of a pydantic error in our wording; pydantic's own if we have none."""
    context, input_value = detail.get("ctx", {}), detail["input"]
    if detail["type"] in _KINDS:
        quotes = (
            "; write it in quotes"
            if detail["type"] == "string_type" and isinstance(input_value, int | float)
            else ""
        )
        return f"{_KINDS[detail['type']]}, not {_named(input_value)}{quotes}"
    if detail["type"] in _TEXTS:
        return _TEXTS[detail["type"]].format(**context)
    if detail["type"] == "string_pattern_mismatch":
        return f"{_PATTERNS[context['pattern']]}, not {_named(input_value)}"
    if detail["type"] == "literal_error":
        words = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        close = nearest(str(input_value), words, listing=False)
        return f"must be {context['expected']}, not {_named(input_value)}{close}"
    return detail["msg"]


def _named(value: object) -> str:
    if isinstance(value, str):
        return f"'{shorten(value, 60)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "a mapping", list: "a list", type(None): "empty"}
    return names.get(type(value), str(value))
