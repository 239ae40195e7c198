"""Text from outside, such as a model's name, made harmless for each target: it is shown and never acts.

The templates of HTML pages escape what they print; only JSON inside a script element needs ``script``.
"""

from __future__ import annotations

import re

from pytest_factorfair.domain import defused, visible

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
LINKED = re.compile(
    r"(?<=[@#])|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=\bGH)(?=-\d)|(?<=\b[0-9a-f]{7})(?=[0-9a-f]{33}\b)",
    re.IGNORECASE,
)
"""Where text becomes a mention, an issue, a commit or a link on GitHub, which ignores a backslash there."""


def one_line(text: str) -> str:
    """Visible text on a single line."""
    return visible(" ".join(text.split()))


def terminal(text: str) -> str:
    """A line for a terminal or a job's log: neither escape sequences nor workflow commands."""
    return defused(visible(text))


def unlinked(text: str) -> str:
    """Text in which GitHub finds no mention, issue or address: a zero-width space breaks each of them."""
    return LINKED.sub("\u200b", text)


def annotation(text: str) -> str:
    """The message of a GitHub workflow command, without unprintable characters and links."""
    plain = unlinked("".join(letter for letter in text if letter.isprintable() or letter in "\r\n"))
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation_property(text: str) -> str:
    """A property of a GitHub workflow command, such as its title."""
    return annotation(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Plain text in GitHub-flavoured Markdown and its tables: no markup, link, mention, tag or line break."""
    plain = unlinked(one_line(text))
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~@&])", r"\\\1", plain).replace("\\<", "&lt;").replace("\\>", "&gt;")


def markdown_code(text: str) -> str:
    """Text between backticks, also in a table cell."""
    return one_line(text).replace("`", "'").replace("|", "\\|")


def markdown_fence(text: str) -> str:
    """A line of a fenced block, which it cannot end."""
    return one_line(text).replace("```", "'" * 3)


def latex(text: str) -> str:
    """Text in which nothing is a command, a comment, a column or a formula."""
    return "".join(LATEX.get(letter, letter) for letter in one_line(text))


def csv(text: str) -> str:
    """A cell that no spreadsheet reads as a formula; negative numbers are kept."""
    cell = one_line(text)
    formula = cell.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if formula else cell


def script(text: str) -> str:
    """JSON inside a script element, which no string in it can end."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
