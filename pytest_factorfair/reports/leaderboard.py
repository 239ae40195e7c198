"""A comparison of models as text, as Markdown and as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import wrap

from pytest_factorfair.domain import Leaderboard
from pytest_factorfair.reports import markup, plain
from pytest_factorfair.reports.ethics import ETHICS
from pytest_factorfair.reports.html.leaderboard import leaderboard_page
from pytest_factorfair.reports.sections import Section, sections

WIDTH = 100


def to_text(found: Leaderboard) -> str:
    """For a terminal: headings are underlined."""
    parts = ["\n".join(map(plain.text, (*found.reports, *found.notes)))]
    parts += ["\n".join(_text(section)) for section in sections(found)]
    return "\n\n".join(parts) + "\n"


def _text(section: Section) -> Iterator[str]:
    title = plain.text(section.title)
    yield from (title, "=" * len(title))
    for line in section.lines:
        yield from wrap(plain.text(line), WIDTH)
    if section.lines:
        yield ""
    yield from plain.lines(*section.tables)


def to_markdown(found: Leaderboard) -> str:
    """GitHub-flavoured; text from outside is shown, never interpreted."""
    parts = [
        "## factorfair compare",
        "\n".join(f"- {markup.text(line)}" for line in (*found.reports, *found.notes)),
    ]
    for section in sections(found):
        parts += [f"### {markup.text(section.title)}", *map(markup.text, section.lines)]
        for table in section.tables:
            parts += [f"**{markup.text(table.title)}**"] * bool(table.title) + [markup.table(table)]
    return "\n\n".join([*parts, f"<sub>{ETHICS}</sub>"]) + "\n"


FORMS: Mapping[str, Callable[[Leaderboard], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "html": leaderboard_page,
}
