"""Items in report.html: the plane of awareness, and cases that open by themselves and have their own marks."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.acceptance.pages.browser import Open
from tests.project import Project
from tests.unit.benchmarks.items import files


def test_checklists_have_planes_and_marks_of_their_own(project: Project, opened: Open) -> None:
    """A point with both of its intervals for each model; the cases of the checklists have the same ids."""
    names = ("first", "second")
    for name in names:
        project.write(f"{name}.yaml", files.checklist(name=name))
    project.run("-p", "no:xdist", "--factorfair-model=sim:position_biased?strength=1",
                "--factorfair-samples=24,objective=4,repeats=3", *(f"--factorfair-checklist={name}.yaml" for name in names),
                "--factorfair-gate=accuracy[first] >= 0.9", model="sim:uniform")  # fmt: skip
    report = json.loads(project.report_path.read_text(encoding="utf-8"))
    marked = {
        f"{model}, first, {case}"
        for gate in report["gates"]
        if gate["verdict"] == "failed"
        for model in [gate["subject"].partition("[")[2].partition(",")[0]]
        for mover in gate["explanation"]["movers"]
        for case in mover["cases"]["ids"]
    }
    assert marked
    with opened(project.report_path.parent / "report.html") as shown:
        page = shown.page
        page.get_by_text("All questions, one by one").click()
        entries = page.locator("#replies-list > details > summary")
        expect(entries.first).to_be_visible()
        texts = [text for text in entries.all_inner_texts() if "\u25b2" in text]
        assert {re.sub(r"^\u25b2 |: \d+ .*$", "", text) for text in texts} == marked
        page.locator("#awareness").scroll_into_view_if_needed()
        charts = page.locator("#awareness-charts svg")
        assert charts.count() == len(names)
        assert charts.locator(".mark-symbol.role-mark path").count() == 2 * len(names)
        assert shown.violations() == []
        entries.first.click()
        page.get_by_role("link", name="open by itself").first.click()
        dialog = page.get_by_role("dialog")
        case = str(dialog.locator("details").get_attribute("data-case"))
        assert page.locator("#select").input_value() == f'"{case}"'
        assert f"/{case}" in page.url
        assert shown.violations("dialog[open]") == []
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert shown.console == []
