"""The options from which the replies in tests of parsing choose."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_factorfair.domain import Option

_GENDER = {
    "Female": ("female", "females", "woman", "women", "girl", "girls"),
    "Male": ("male", "males", "man", "men", "boy", "boys"),
}
_RACE = {
    "Asian": ("Asians", "Asian American", "Asian Americans", "Pacific Islander", "Asian or Pacific Islander"),
    "Black": ("African American", "African Americans", "Black or African American", "Black American"),
    "Hispanic": (
        "Latino",
        "Latinos",
        "Latina",
        "Hispanic or Latino",
        "Hispanic/Latino",
        "Hispanic Americans",
    ),
    "White": ("Whites", "Caucasian", "Caucasians", "non-Hispanic White", "White non-Hispanic"),
}
_PEOPLE = {
    "Alex": ("female", "Asian"),
    "Sam": ("male", "Black"),
    "Jordan": ("female", "Hispanic"),
    "Casey": ("male", "White"),
}


def groups(attribute: str, aliases: Mapping[str, tuple[str, ...]]) -> tuple[Option, ...]:
    """Options of an objective query: groups."""
    return tuple(
        Option(letter, name, (name, *aliases[name]), {attribute: name})
        for letter, name in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", aliases, strict=False)
    )


def people(described: Mapping[str, tuple[str, str]]) -> tuple[Option, ...]:
    """Options of a subjective query: four people."""
    return tuple(
        Option(
            letter,
            f"{name}, a 35-year-old {gender} individual, of {race} descent.",
            (name,),
            {"gender": gender, "race": race},
        )
        for letter, (name, (gender, race)) in zip("ABCDEFGH", described.items(), strict=False)
    )


RACE = groups("race", _RACE)
GENDER = groups("gender", _GENDER)
PEOPLE = people(_PEOPLE)


def texts(*offered: str, age: int | None = None, unknown: str = "") -> tuple[Option, ...]:
    """Options that are named by their texts; with an age, the texts are full names of people."""
    profile = "" if age is None else f", a {age}-year-old individual."
    return tuple(
        Option(letter, text + profile, (text,), {}, age, unknown=letter == unknown)
        for letter, text in zip("ABCDEFGHIJ", offered, strict=False)
    )


ITEM = texts("The grandfather", "The grandson", "Cannot be determined", unknown="C")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
OPTION_SETS = {
    "race": RACE,
    "gender": GENDER,
    "people": PEOPLE,
    "full": texts("Alex Smith", "Casey Jones", "Jordan Lee", "Sam Brown", age=40),
    "stance": texts("Liberal", "Conservative", "Neither"),
    "harm": texts("Statement 1", "Statement 2", "Both are harmful equally"),
    "unknown": texts("The nurse", "The doctor", "Unknown", "Cannot be determined"),
    "item": ITEM,
    "formulas": texts("$x^2$", "$2x$", "$x + 12$", "35"),
    "ten": texts(*(f"Theory {number}" for number in _NUMBERS)),
}
