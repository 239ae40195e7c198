"""Text from outside, such as a model's name, made harmless for LaTeX and for spreadsheets."""

from __future__ import annotations

import re

from pytest_factorfair.reports import plain

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "{}$&%#_"},
}
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def latex(words: str) -> str:
    """Text in which nothing is a command, a comment, a column or a formula."""
    return "".join(LATEX.get(letter, letter) for letter in plain.text(words))


def csv(words: str) -> str:
    """A cell that no spreadsheet takes for a formula; a negative number stays one."""
    one_line = plain.text(words)
    formula = one_line.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(one_line)
    return f"'{one_line}" if formula else one_line
