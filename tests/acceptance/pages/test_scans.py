"""The worst cells of a failed scan in report.html: their numbers, replies, and ways into the matrix."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages.browser import SCREENS, Open, Scheme
from tests.finished import Finished
from tests.project import FEW

SETTINGS = (f"--factorfair-checklist={FEW}", "--factorfair-gate=default", "FACTORFAIR_LOOKS=1")
AVOIDING = (
    "--factorfair-model=sim:avoiding?group=Black&when=named:White,context:attribution,in_group",
    *SETTINGS,
)
LIKELY = (
    "--factorfair-model=sim:avoiding?group=Black&when=topic:crime_rate-highest",
    "--factorfair-answers=probabilities",
    *SETTINGS,
)
EXAMPLES = 3
"""The most replies of a cell."""


def worst(folder: Path, word: str) -> dict[str, Any]:
    """The worst cell of a scan."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (scan,) = (scan for scan in report["scans"] if scan["scan"] == word)
    cell: dict[str, Any] = scan["worst"][0]
    return cell


@pytest.mark.parametrize("settings", [AVOIDING, LIKELY], ids=["text", "probabilities"])
def test_a_verdict_leads_to_the_replies_of_its_worst_cell(
    finished: Finished, opened: Open, settings: tuple[str, ...]
) -> None:
    folder = finished(*settings)
    cell = worst(folder, "subjective")
    lines = (folder / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [reply for reply in map(json.loads, lines) if reply["query"] in cell["queries"]]
    expected = [reply["prompt"] for reply in replies if reply["case"] == cell["case"]]
    assert len(expected) == EXAMPLES
    with opened(folder / "report.html") as shown:
        page = shown.page
        name = f"{cell['condition']}: {cell['kind']}"
        page.locator('#verdict [data-subject="scan[subjective]"] p').get_by_role("link", name=name).click()
        dialog = page.get_by_role("dialog")
        heading = dialog.get_by_role("heading").first
        expect(heading).to_have_text(re.compile(re.escape(cell["sentence"]), re.IGNORECASE))
        expect(dialog.locator(".reply").first).to_be_visible()
        assert dialog.locator(".prompt").all_text_contents() == expected
        assert page.locator("#select").input_value() == f'"{cell["case"]}"'
        assert shown.violations("dialog[open]") == []
        address = page.url
        dialog.get_by_role("link", name=re.compile("Rate: race")).click()
        expect(heading).to_contain_text("Rate: race")
        page.go_back()
        expect(heading).to_contain_text(cell["kind"])
        page.keyboard.press("Escape")
        expect(dialog).not_to_be_visible()
        table = page.locator("#scores").get_by_role("link", name=name, exact=True)
        assert page.evaluate("(link) => link.href", table.element_handle()) == address
        assert shown.console == []


@SCREENS
def test_its_table_is_accessible_and_the_page_as_wide_as_the_screen(
    finished: Finished, opened: Open, scheme: Scheme, width: int
) -> None:
    folder = finished(*AVOIDING)
    cell = worst(folder, "subjective")
    with opened(folder / "report.html", scheme=scheme, width=width) as shown:
        row = shown.page.locator("#scores").get_by_role("row", name=cell["kind"]).first
        assert row.locator("td").all_inner_texts()[:3] == [
            f"{cell['taken']:,.0f} of {cell['n']:,}",
            f"{cell['fair']:,.0f}",
            f"at least {cell['limit']:,.0f}",
        ]
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        assert shown.violations("#scores") == []
