"""Items in report.html: the plane of awareness, and cases that open by themselves and have their own marks."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.acceptance.pages.browser import Open
from tests.project import Project
from tests.unit.protocols.items import files


def test_the_page_draws_the_plane(project: Project, opened: Open) -> None:
    """A point with both of its intervals for each model, beside the other benchmark's section."""
    project.write("mixed.yaml", files.checklist())
    project.run("-p", "no:xdist", "--factorfair-checklist=mixed.yaml", "--factorfair-model=sim:uniform",
                "--factorfair-samples=24,objective=4,repeats=3")  # fmt: skip
    with opened(project.report_path.parent / "report.html") as shown:
        assert shown.violations() == []
        shown.page.locator("#awareness").scroll_into_view_if_needed()
        assert shown.page.locator("#awareness-charts svg").count() == 1
        points = shown.page.locator("#awareness-charts svg .mark-symbol.role-mark path")
        assert points.count() == 2
        shown.page.locator("#replies-list summary").first.click()
        shown.page.get_by_role("link", name="open by itself").first.click()
        dialog = shown.page.get_by_role("dialog")
        case = str(dialog.locator("details").get_attribute("data-case"))
        assert shown.page.locator("#select").input_value() == f'"{case}"'
        assert f"/{case}" in shown.page.url
        assert shown.violations("dialog[open]") == []
        shown.page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert shown.console == []


def test_checklists_with_the_same_case_ids_have_their_own_marks(project: Project, opened: Open) -> None:
    names = ("first", "second")
    for name in names:
        project.write(f"{name}.yaml", files.checklist(name=name))
    project.run("-p", "no:xdist", "--factorfair-samples=24,objective=4,repeats=3",
                *(f"--factorfair-checklist={name}.yaml" for name in names), "--factorfair-gate=accuracy[first] >= 0.9",
                model="sim:position_biased?strength=1")  # fmt: skip
    report = json.loads(project.report_path.read_text(encoding="utf-8"))
    marked = {
        f"first, {case}"
        for gate in report["gates"]
        if gate["verdict"] == "failed"
        for mover in gate["explanation"]["movers"]
        for case in mover["cases"]["ids"]
    }
    assert marked
    with opened(project.report_path.parent / "report.html") as shown:
        entries = shown.page.locator("#replies-list > details > summary")
        expect(entries.first).to_be_visible()
        texts = [text for text in entries.all_inner_texts() if "\u25b2" in text]
        assert {re.sub(r"^\u25b2 |: \d+ .*$", "", text) for text in texts} == marked
