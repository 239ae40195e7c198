"""What pages name exists: options, commands, gate metrics, files."""

from __future__ import annotations

import re
from pathlib import Path

import cmarkgfm
import pytest

from pytest_factorfair.benchmarks import benchmarks
from pytest_factorfair.benchmarks.combined import metrics
from pytest_factorfair.commands.cli import main
from pytest_factorfair.config.options import OPTIONS
from tests.examples.pages import DO
from tests.examples.snippets import snippets, written

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
RECIPES = sorted((ROOT / "conftest_examples").rglob("README.md"))
PAGES = [ROOT / "README.md", ROOT / "checklists" / "README.md", *DOCS, *RECIPES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"--factorfair-[a-z-]*[a-z]", page.read_text(encoding="utf-8")))
    assert named <= {option.flag for option in OPTIONS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_linked_exists(page: Path) -> None:
    """In the repository, where pages are read as well; building the site checks the links there."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", text)
    lost = [link for link in links if not (page.parent / link).exists()]
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_two_headings_are_equal(page: Path) -> None:
    """They are the targets of links."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    assert sorted(set(headings)) == sorted(headings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_rendered(page: Path) -> None:
    """GitHub shows the bare text of a table whose second line has another number of columns."""
    rendered = cmarkgfm.github_flavored_markdown_to_html(page.read_text(encoding="utf-8"))
    assert "<p>|" not in rendered


@pytest.mark.parametrize("page", [*DOCS, *RECIPES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_tried(page: Path) -> None:
    assert {block.language for block in snippets(page)} <= DO.keys()


REFERENCE = ("published_tables", "published_size", "truth", "truth_crossed", "truth_eu", "ARCHITECTURE")
"""Pages whose tables and trees are looked up, not read."""


def words(page: Path) -> int:
    """Words of a page, code blocks and what is only looked up aside."""
    aside = r"^ *```.*?^ *```$|<!--.*?-->|(?<=\])\([^)]*\)" + r"|^(?:\||    )[^\n]*$" * (
        page.stem in REFERENCE
    )
    prose = re.sub(aside, "", written(page), flags=re.MULTILINE | re.DOTALL)
    return len(re.findall(r"[A-Za-z0-9][\w'.%-]*", prose))


LONGEST = {
    1_000: [*DOCS, *RECIPES, ROOT / "checklists" / "README.md"],
    1_100: [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")],
    1_300: [ROOT / "CHANGELOG.md"],
}
"""Pages by the words that they may have: one of the site answers one question of one reader."""


@pytest.mark.parametrize(
    ("page", "longest"),
    [
        pytest.param(page, longest, id=str(page.relative_to(ROOT)))
        for longest, pages in LONGEST.items()
        for page in pages
    ],
)
def test_every_page_is_of_sensible_length(page: Path, longest: int) -> None:
    assert words(page) <= longest


def test_the_documentation_can_be_read_in_an_hour() -> None:
    """At some 270 words a minute."""
    assert sum(map(words, DOCS)) <= 16_000


def test_every_command_that_is_named_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """``factorfair WORD`` in running text."""
    named = {
        word
        for page in PAGES
        for word in re.findall(r"`factorfair ([a-z]+)", page.read_text(encoding="utf-8"))
    }
    assert main(["--help"]) == 0
    listed = set(re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, re.MULTILINE))
    assert named <= listed
    assert {"lint", "compare"} <= listed


def test_every_metric_of_gates_is_reported() -> None:
    text = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    assert not [metric for metric in metrics(benchmarks().values()) if f"`{metric}`" not in text]


def test_every_page_has_its_place() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    assert {page.name for page in DOCS} <= set(listed)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    pytest.importorskip("griffe", reason="the reference of the API needs the extra docs")
    from docs.generated import renewed

    text = page.read_text(encoding="utf-8")
    assert renewed(text) == text, "run: python docs/generated.py"
