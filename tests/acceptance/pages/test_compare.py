"""The page of `factorfair compare` in a real browser: quiet, accessible, sortable, and deaf to hostile names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from tests.acceptance.pages.browser import SCREENS, Open, Scheme
from tests.finished import REFUSING, TEXT, Finished

HOSTILE = "<img src=x onerror=console.log(1)></script><script>console.log(2)</script>\u202e\x1b[31m"


@pytest.fixture(scope="module")
def page(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two reports, a complete and a partial one; a model has a name that would be code, were it not text."""
    former = finished(*TEXT) / "report.json"
    folder = tmp_path_factory.mktemp("compared")
    later = folder / "later.json"
    renamed = former.read_text().replace(json.dumps("sim:uniform"), json.dumps(HOSTILE))
    later.write_text(json.dumps(json.loads(renamed) | {"incomplete": "2 cases are missing"}))
    target = folder / "compare.html"
    files = [str(former), str(later), "--teacher", HOSTILE]
    assert main(["compare", *files, "-o", str(target)]) == 0
    return target


@SCREENS
def test_it_is_quiet_accessible_and_as_wide_as_the_screen(
    page: Path, opened: Open, scheme: Scheme, width: int
) -> None:
    with opened(page, scheme=scheme, width=width) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        for folded in shown.page.locator("summary").all():
            folded.click()
        assert shown.console == []
        assert shown.requests == [page.as_uri()]
        assert shown.violations() == []
        assert shown.page.locator("img").count() == 0
        heading = shown.page.inner_text("h1")
        assert "<img src=x onerror=console.log(1)></script>" in heading
        assert not {"\u202e", "\x1b"} & set(shown.page.locator("main").inner_html())
        assert shown.page.inner_text("main").count("NOT JUDGED: 2 cases are missing") == 1
        verdicts = "sim:stereotyped, sim:uniform (report 1): PASS: all 2 gates passed;"
        assert shown.page.inner_text(".verdict h2").startswith(verdicts)
        lead = "sim:stereotyped (report 1) is among the best on 12 of 12 scores."
        assert lead in shown.page.inner_text(".verdict")


def test_charts_show_every_model_with_its_interval_and_boards_sort(page: Path, opened: Open) -> None:
    """A chart of intervals for each score and one of changes; models of the first report lie on the curve."""
    with opened(page) as shown:
        captions = shown.page.locator("figcaption").all_inner_texts()
        assert {"S_fact, objective: 1 is best", "S_E, base: 1 is best", "change of each score"} <= set(
            captions
        )
        assert {"few: gender", "few: race"} <= set(captions)
        figure = shown.page.locator("figure", has_text="S_E, base: 1 is best").first
        assert figure.locator(".mark-symbol path").count() == 4
        assert figure.locator(".mark-rule.role-mark line").count() == 4
        assert (
            sum("stereotyped" in text for text in figure.locator(".role-axis-label text").all_text_contents())
            == 2
        )
        table = shown.page.locator("section", has_text="few: gender").last.locator("table").first
        heading = table.get_by_role("button", name="S_KLD, base")
        for order in ("ascending", "descending"):
            heading.click()
            assert table.locator(f"th[aria-sort={order}]").inner_text().startswith("S_KLD")
            cells = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
            values = [float(cell.split()[0]) for cell in cells]
            assert values == sorted(values, reverse=order == "descending")
            assert len(set(values)) > 1
            assert [cell.split()[-1] for cell in cells] == ["a"] * 4  # no difference is clear


def test_a_history_has_a_point_per_release(finished: Finished, tmp_path: Path, opened: Open) -> None:
    """Releases by their dates; those of other settings are apart."""
    report = json.loads((finished(*REFUSING) / "report.json").read_text())
    files = []
    for month, truth in enumerate(("audited", "published", "audited"), 1):
        times = {"started": f"2026-0{month}-01T00:00:00+00:00"}
        changed = {"fingerprint": report["fingerprint"] | {"truth": truth, "times": times}}
        files.append(tmp_path / f"{month}.json")
        files[-1].write_text(json.dumps(report | changed))
    target = tmp_path / "history.html"
    assert main(["compare", *map(str, reversed(files)), "-o", str(target)]) == 0
    with opened(target) as shown:
        assert shown.console == []
        section = shown.page.locator("section", has_text="few: gender over time").last
        assert shown.violations(f"#{section.get_attribute('id')}") == []
        chart = section.locator("figure", has_text="S_E, base")
        assert chart.locator(".mark-symbol path").count() == 3
        assert chart.locator(".mark-text.role-mark text").all_text_contents() == ["not comparable"] * 2
        days = section.locator("tbody th").all_inner_texts()
        assert [day[:10] for day in days] == ["2026-01-01", "2026-02-01", "2026-03-01"]
