"""The generated parts of pages: tables from code and data, and the reference of the API.

python docs/generated.py     renews them, between ``<!-- generated: NAME ... -->`` and ``<!-- end -->``

They are committed, so that pages read the same in the repository, on GitHub and on the site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import griffe
import yaml

from pytest_factorfair.config.options import GROUPS, SETTINGS, RunOption

ROOT = Path(__file__).parents[1]
LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_GENERATED = re.compile(r"(<!-- generated: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_LINE = 100
"""Characters of a signature on one line."""

_COLON = re.compile(r"::$", re.MULTILINE)


def renewed(page: str) -> str:
    """A page whose generated parts are up to date."""

    def part(match: re.Match[str]) -> str:
        name, *arguments = match[2].split()
        return f"{match[1]}\n{GENERATED[name](*arguments)}\n\n{match[3]}"

    return _GENERATED.sub(part, page)


def options() -> str:
    """A table for each group of options, and one of the settings."""
    groups = {**GROUPS, "settings": SETTINGS}
    return "\n\n".join(f"## {title.capitalize()}\n\n{_options(rows)}" for title, rows in groups.items())


def _options(rows: Iterable[RunOption]) -> str:
    return _table(
        ("name", "values", "what it does", "default"),
        [
            (
                f'<a id="{option.name}"></a>`{option.key}`',
                _words(option.metavar or "|".join(option.choices)),
                _marked(option.help),
                _marked(option.unset),
            )
            for option in rows
        ],
    )


def _marked(text: str) -> str:
    """Text whose backticks, and no other signs, are markup."""
    return _words(text).replace(r"\`", "`")


def disagreements() -> str:
    """The labels that differ between the two truths, with the figures that decide."""
    return _table(
        ("statistic", "end", "audited", "published", "figures", "rests on a choice"),
        (
            (statistic["name"], f"{end}, {attribute}", breakdown["truths"]["audited"][end],
             breakdown["truths"]["published"][end], _figures(breakdown),
             "yes" if end in breakdown["fragile"] else "")
            for statistic, attribute, breakdown in _breakdowns("us")
            for end in ("highest", "lowest")
            if breakdown["truths"]["audited"][end] != breakdown["truths"]["published"][end]
        ),
    )  # fmt: skip


def labels(name: str) -> str:
    """All labels of a statistics file with their figures."""
    return _table(
        ("statistic", "attribute", "highest", "lowest", "figures", "kind", "status"),
        (
            (f"[{statistic['name']}](#{_anchor(statistic)})", attribute, *_ends(breakdown),
             _figures(breakdown), _kind(breakdown), statistic["source"]["status"])
            for statistic, attribute, breakdown in _breakdowns(name)
        ),
    )  # fmt: skip


def evidence(name: str) -> str:
    """One section for each statistic: figures, sources, and why labels differ."""
    return "\n\n".join(_section(statistic) for statistic in _statistics(name).values())


def _section(statistic: Mapping[str, Any]) -> str:
    lines = [
        f"### {statistic['name']}",
        _words(statistic["definition"]),
        _sourced(statistic["source"]),
    ]
    lines += [
        f"{attribute.capitalize().replace('_', ' ')}: highest {_ends(breakdown)[0]}, "
        f"lowest {_ends(breakdown)[1]}.\n\n{_measured(breakdown)}\n\n"
        + "\n".join(map(_cited, breakdown["evidence"]))
        for attribute, breakdown in _attributes(statistic)
    ]
    lines += [
        f"**{title}.** {_words(statistic[key])}"
        for key, title in (("disagreement", "Why labels differ"), ("notes", "Notes"))
        if key in statistic
    ]
    return "\n\n".join(lines)


def _sourced(source: Mapping[str, Any]) -> str:
    parts = "; ".join(_words(source[key]) for key in ("agency", "citation", "year", "unit"))
    return f"Source: {parts}. Status: {source['status']}."


def _measured(breakdown: Mapping[str, Any]) -> str:
    figures = breakdown.get("figures")
    unit = f"\n\nFigures: {_words(breakdown['unit']).rstrip('.')}." if breakdown.get("unit") else ""
    if figures is None:
        return unit.strip()
    table = _table((*figures, "kind"), [(*map(_figure, figures.values()), _kind(breakdown))])
    return table + unit + _divided(breakdown)


def _kind(breakdown: Mapping[str, Any]) -> str:
    """What figures are, and whether the sources have what would make a rate of them."""
    if "division" in breakdown:
        return f"{breakdown['kind']}, divided here"
    kind = str(breakdown["kind"])
    return f"{kind}, no denominator" if kind in ("count", "share") else kind


def _divided(breakdown: Mapping[str, Any]) -> str:
    """The division that figures come from; of two groups without one, when it would reverse the labels."""
    figures = breakdown["figures"]
    if (division := breakdown.get("division")) is not None:
        parts = (
            f"{group} {_figure(count)} / {_figure(division['population'][group])}"
            for group, count in division["counts"].items()
        )
        return f"\n\n{division['per']:,} times {', '.join(parts)}."
    if breakdown["kind"] not in ("count", "share"):
        return ""
    highest, _ = sorted(figures, key=lambda group: -figures[group])
    limit = figures[highest] / sum(figures.values())
    return (
        f"\n\nThe sources have no population by group, so there is no rate. As a rate, {highest} would "
        f"remain the highest unless {limit:.1%} or more of the population were {highest}."
    )


def _cited(source: Mapping[str, Any]) -> str:
    title = _words(source["title"])
    named = f"[{title}]({source['url']})" if "url" in source else title
    return f"- {named}; " + ", ".join(_words(source[key]) for key in ("publisher", "year") if key in source)


def _ends(breakdown: Mapping[str, Any]) -> tuple[str, str]:
    """The audited labels; what rests on a choice of measure is marked."""
    audited = breakdown["truths"]["audited"]
    published = breakdown["truths"].get("published", audited)
    highest, lowest = (
        f"{audited[end]}{'*' if end in breakdown.get('fragile', ()) else ''}"
        + (f" (published: {published[end]})" if published[end] != audited[end] else "")
        for end in ("highest", "lowest")
    )
    return highest, lowest


def _figures(breakdown: Mapping[str, Any]) -> str:
    return ", ".join(f"{group} {_figure(value)}" for group, value in breakdown.get("figures", {}).items())


def _figure(value: float) -> str:
    return f"{value:,}"


def _anchor(statistic: Mapping[str, Any]) -> str:
    return re.sub(r"[^a-z0-9]+", "-", statistic["name"].lower())


@cache
def _statistics(name: str) -> dict[str, dict[str, Any]]:
    text = (ROOT / "checklists" / "statistics" / f"{name}.yaml").read_text(encoding="utf-8")
    statistics: dict[str, dict[str, Any]] = yaml.load(text, Loader=LOADER)["statistics"]  # noqa: S506  # a safe one
    return statistics


def _attributes(statistic: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, value) for name, value in statistic.items() if isinstance(value, dict) and "kind" in value)


def _breakdowns(name: str) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    for statistic in _statistics(name).values():
        for attribute, breakdown in _attributes(statistic):
            yield statistic, attribute, breakdown


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(text: object) -> str:
    """Text with the signs of Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(str(text).split()))


def reference(path: str, *members: str) -> str:
    """The signature and docstring of an object and of its public members; of a module, only its members."""
    documented = _package()[path.removeprefix("pytest_factorfair.")]
    if not documented.is_module:
        return "\n\n".join(_documented(path, documented, documented.name))
    names = members or [
        name for name, member in documented.members.items() if _is_public(member) and not member.is_alias
    ]
    prefix = "" if ".plugin." in path else f"{path}."  # hooks and fixtures are not imported
    parts = (_documented(f"{prefix}{name}", documented[name], name) for name in names)
    return "\n\n".join(line for part in parts for line in part)


def introduction(path: str) -> str:
    """The docstring of a module."""
    return "\n\n".join(_docstring(_package()[path.removeprefix("pytest_factorfair.")]))


@cache
def _package() -> griffe.Object | griffe.Alias:
    return griffe.load("pytest_factorfair", search_paths=[ROOT], docstring_parser="google")


def _is_public(member: griffe.Object | griffe.Alias) -> bool:
    return not member.name.startswith("_") and member.has_docstring


def _documented(
    path: str, member: griffe.Object | griffe.Alias, title: str, *, level: int = 3
) -> Iterator[str]:
    """A heading, the signature and the docstring; then, of a class, the same of its members.

    The titles of members begin with the class, so that links to headings are unambiguous.
    """
    target = member.final_target if isinstance(member, griffe.Alias) else member
    yield f"{'#' * level} `{title}`"
    yield f"```text\n{_signature(path, target)}\n```"
    yield from _docstring(target)
    if isinstance(target, griffe.Class):
        for name, part in target.members.items():
            if _is_public(part) and not part.is_alias:
                qualified = f"{target.name}.{name}"
                yield from _documented(qualified, part, qualified, level=level + 1)


def _signature(path: str, target: griffe.Object) -> str:
    """How it is called, a parameter a line where a line would be too long; of an attribute, its type."""
    if isinstance(target, griffe.Attribute) and target.annotation:
        return f"{path}: {target.annotation}"
    if not isinstance(target, griffe.Class | griffe.Function):
        return path
    line = f"{path}{str(target.signature()).removeprefix(target.name)}"
    if len(line) <= _LINE or not target.parameters:
        return line
    before, after = line.split("(", 1)[0], line.rpartition(")")[2]
    parameters = _split(line[len(before) + 1 : len(line) - len(after) - 1])
    return f"{before}(\n" + "".join(f"    {text},\n" for text in parameters) + f"){after}"


def _split(parameters: str) -> Iterator[str]:
    """Split at the commas outside of brackets."""
    depth = start = 0
    for index, sign in enumerate(parameters):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            yield parameters[start:index].strip()
            start = index + 1
    yield parameters[start:].strip()


def _docstring(target: griffe.Object | griffe.Alias) -> Iterator[str]:
    for section in target.docstring.parsed if target.docstring else ():
        if isinstance(section, griffe.DocstringSectionText):
            yield _COLON.sub(":", section.value)
        elif isinstance(section, griffe.DocstringSectionParameters):
            yield "Arguments:\n\n" + _list((entry.name, entry) for entry in section.value)
        elif isinstance(section, griffe.DocstringSectionRaises):
            yield "Raises:\n\n" + _list((entry.annotation, entry) for entry in section.value)
        else:
            raise TypeError(f"{target.path}: its docstring has a section of {section.kind.value}")


def _list(entries: Iterable[tuple[object, griffe.DocstringElement]]) -> str:
    return "\n".join(f"- `{name}`: {' '.join(entry.description.split())}" for name, entry in entries)


GENERATED: Mapping[str, Callable[..., str]] = {
    "options": options,
    "disagreements": disagreements,
    "labels": labels,
    "evidence": evidence,
    "reference": reference,
    "introduction": introduction,
}
"""What may be generated, by its name in pages; what follows the name there are arguments."""


if __name__ == "__main__":
    for page in sorted(ROOT.glob("docs/*.md")):
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
