"""Generated content of the site: tables from code and data, and pages of the repository.

A hook of mkdocs. A comment ``<!-- generated: NAME -->`` in a page becomes the table of that name; links
to files of the repository become links to their pages.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from pytest_factorfair.config.options import GROUPS, SETTINGS, RunOption

ROOT = Path(__file__).parents[1]
RECIPES = (
    "own_model",
    "wrapped_model",
    "own_detector",
    "own_assertion",
    "own_checklist",
    "own_benchmark",
    "offline_engine",
    "notebook",
    "ci_gates",
)
PAGES = {
    "checklists/README.md": "checklist_format.md",
    "conftest_examples/README.md": "recipes/index.md",
    **{f"conftest_examples/{name}/README.md": f"recipes/{name}.md" for name in RECIPES},
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the repository, and their paths in the site."""

LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}

_MARK = re.compile(r"<!-- generated: (\w+) -->")
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")

log = get_plugin_logger(__name__)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository."""
    for origin, uri in PAGES.items():
        files.append(File.generated(config, uri, content=_page(ROOT / origin)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace marks by tables, and repository links by site links."""
    del config, files
    parts = _CODE.split(_MARK.sub(lambda match: TABLES[match[1]](), markdown))
    parts[::2] = (_relinked(prose, page.file.src_uri) for prose in parts[::2])
    return "".join(parts)


def _page(path: Path) -> str:
    """A page of the repository; the files of a recipe are appended."""
    text = path.read_text(encoding="utf-8")
    recipe = path.parent.parent.name == "conftest_examples"
    return text + "".join(map(_listing, _files(path.parent))) if recipe else text


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in LANGUAGES)


def _listing(path: Path) -> str:
    name = path.relative_to(ROOT / "conftest_examples").parts[1:]
    code = path.read_text(encoding="utf-8").rstrip()
    return f"\n## {'/'.join(name)}\n\n```{LANGUAGES[path.suffix]}\n{code}\n```\n"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Remove one of the two colons that announce an example in docstrings."""
    del page, config, files
    return html.replace("::</p>", ":</p>").replace("</code>::", "</code>:")


def _relinked(prose: str, uri: str) -> str:
    return _LINK.sub(lambda match: f"]({_linked(match[1], uri)}{match[2] or ''})", prose)


def _linked(target: str, uri: str) -> str:
    """A link of a page as the site needs it."""
    origin = next((origin for origin, page in PAGES.items() if page == uri), f"docs/{uri}")
    target_path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    source = next((path for path in (target_path, f"{target_path}/README.md") if path in PAGES), None)
    page = PAGES[source] if source else target_path.removeprefix("docs/")
    if not source and not target_path.startswith("docs/"):
        log.warning("%s links to %s, which is not part of the site", uri, target_path)
    return posixpath.relpath(page, posixpath.dirname(uri) or ".")


def repository() -> str:
    """A link to the source code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"[The source code]({project['urls']['Source']})."


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
    """Words whose backticks are markup."""
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
        f"### {statistic['name']} {{ #{_anchor(statistic)} }}",
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
    """Text inside Markdown: its signs are no markup."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(str(text).split()))


TABLES: Mapping[str, Callable[[], str]] = {
    "repository": repository,
    "options": options,
    "disagreements": disagreements,
    **{f"labels_{name}": partial(labels, name) for name in ("us", "us_crossed", "eu")},
    **{f"evidence_{name}": partial(evidence, name) for name in ("us", "us_crossed", "eu")},
}
