"""The page of `factorfair compare` in a real browser: quiet, accessible, sortable, and deaf to hostile names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from tests.browser import Open, Scheme
from tests.finished import Finished
from tests.project import FEW

TWO = (
    "--factorfair-model=sim:stereotyped",
    "--factorfair-model=sim:ideal",
    f"--factorfair-checklist={FEW}",
    "--factorfair-preset=smoke",
)
HOSTILE = "<img src=x onerror=console.log(1)></script><script>console.log(2)</script>\u202e\x1b[31m"


@pytest.fixture
def page(finished: Finished, tmp_path: Path) -> Path:
    """Of two reports; one of the models has a name that would be code, were it not text."""
    former = finished(*TWO) / "report.json"
    later = tmp_path / "later.json"
    later.write_text(former.read_text().replace(json.dumps("sim:ideal"), json.dumps(HOSTILE)))
    target = tmp_path / "compare.html"
    files = [str(former), str(later), "--teacher", HOSTILE]
    assert main(["compare", *files, "--format", "html", "-o", str(target)]) == 0
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_quiet_and_accessible(page: Path, opened: Open, scheme: Scheme) -> None:
    with opened(page, scheme=scheme) as shown:
        for folded in shown.page.locator("summary").all():
            folded.click()
        assert shown.console == []
        assert shown.requests == [page.as_uri()]
        assert shown.violations() == []
        assert shown.page.locator("img").count() == 0
        told = shown.page.inner_text("h1")
        assert "<img src=x onerror=console.log(1)></script>" in told
        assert not {"\u202e", "\x1b"} & set(shown.page.content())
        assert "NOT JUDGED: the smoke preset" in shown.page.inner_text("main")


def test_it_is_as_wide_as_a_phone(page: Path, opened: Open) -> None:
    with opened(page, width=390) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") == 390


def test_its_leaderboards_sort(page: Path, opened: Open) -> None:
    with opened(page) as shown:
        table = shown.page.locator("section", has_text="few: gender").last.locator("table").first
        heading = table.get_by_role("button", name="S_KLD, base")
        for order in ("ascending", "descending"):
            heading.click()
            assert table.locator(f"th[aria-sort={order}]").inner_text().startswith("S_KLD")
            cells = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
            values = [float(cell.split()[0]) for cell in cells]
            assert values == sorted(values, reverse=order == "descending")
            assert len(set(values)) > 1
            assert {cell.split()[-1] for cell in cells} == {"?"}
