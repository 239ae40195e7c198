"""The section of items in report.html: the plane of awareness, and cases that open by themselves."""

from __future__ import annotations

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
