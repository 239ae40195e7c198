"""The exception tree in the module's docstring equals that of the classes."""

from __future__ import annotations

import re

import pytest

from pytest_factorfair import errors
from pytest_factorfair.errors import nearest


def test_the_docstring_lists_all_exceptions() -> None:
    assert errors.__doc__ is not None
    drawn = set(re.findall(r"(\w+Error)\b(?=\(|\s|$)", errors.__doc__)) - {
        "ValueError",
        "RuntimeError",
        "OSError",
    }
    defined = {name for name, definition in vars(errors).items() if isinstance(definition, type)}
    assert drawn == {name for name in defined if issubclass(getattr(errors, name), errors.FactorfairError)}


@pytest.mark.parametrize(
    ("word", "names", "hint"),
    [
        ("genderr", ["gender", "race"], "; did you mean 'gender'?"),
        ("x", ["gender", "race"], "; known: gender, race"),
        ("x", [], ""),
    ],
)
def test_nearest(word: str, names: list[str], hint: str) -> None:
    assert errors.nearest(word, names) == hint


def test_a_checklist_error_says_where() -> None:
    assert str(errors.ChecklistError("a.yaml", 7, "topics.x", "wrong")) == "a.yaml:7: topics.x: wrong"
    assert str(errors.ChecklistError("a.yaml", None, "", "wrong")) == "a.yaml: wrong"


@pytest.mark.parametrize("word", ["S_FACT", "s-fact", "S_Fcat"])
def test_the_nearest_word_in_any_case(word: str) -> None:
    assert nearest(word, ["s_fact", "s_e"]) == "; did you mean 's_fact'?"
    assert nearest(word.lower(), ["S_FACT", "S_E"]) == "; did you mean 'S_FACT'?"
