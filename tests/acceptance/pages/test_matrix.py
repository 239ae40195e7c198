"""The matrix of report.html: what is marked, coloured and sorted, and the cells that it opens."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from tests.acceptance.pages.browser import Open, Scheme
from tests.finished import FAILING, PAINTED, TEXT, Finished
from tests.project import Project

SCHEMES: tuple[Scheme, ...] = ("light", "dark")

BASE = 1
"""The place of the first context in the matrix; facts come before it."""


def report_of(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


def shown_in(page: Page, column: int) -> list[float]:
    """The values of a column of the matrix."""
    texts = page.locator(f"#cells tbody tr td:nth-child({column + 2})").all_inner_texts()
    return [float(text.strip("▲ *")) for text in texts]


def test_cells_that_broke_a_gate_are_marked(finished: Finished, opened: Open) -> None:
    folder = finished(*FAILING)
    movers = {
        (mover["topic"].split(",")[0], gate["words"][0])
        for gate in report_of(folder)["gates"]
        if gate["verdict"] == "failed" and "gender" in gate["words"]
        for mover in gate["explanation"]["movers"]
    }
    assert movers
    with opened(folder / "report.html") as shown:
        page = shown.page
        page.locator("#filters").get_by_role("combobox", name="attribute").select_option("gender")
        heads = [text.strip("▲ ↕\n") for text in page.locator("#cells thead th").all_inner_texts()]
        marked = {
            (row.locator("th").inner_text(), heads[column].replace(" ", "_"))
            for row in page.locator("#cells tbody tr").all()
            for column, text in enumerate(["", *row.locator("td").all_inner_texts()])
            if "▲" in text
        }
        assert marked == movers
        links = page.locator('#verdict [data-subject="s_e[base,gender]"] > p a')
        named = {tuple(text.rsplit(", ", 1)) for text in links.all_inner_texts()}
        assert named
        assert named <= marked
        page.locator("#cells td.broke a").first.hover()
        assert "FAILED" in page.locator("#tip").inner_text()
        links.first.click()
        assert "moved it most" in page.locator("#topic .sign.failed").first.inner_text()


CONTRAST = """(strength) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data].map((one) => {
      const part = one / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll("#cells td a")].map((link) => {
    link.style.setProperty("--v", strength);
    const style = getComputedStyle(link);
    const [dark, bright] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
    return [link.className, style.backgroundColor, (bright + 0.05) / (dark + 0.05)];
  });
}"""


def test_facts_and_judgements_have_scales_that_can_be_read(finished: Finished, opened: Open) -> None:
    """A judgement is stronger in colour the further from even it is, a fact the more often it is true."""
    with opened(finished(*FAILING) / "report.html") as shown:
        page = shown.page
        strengths = "(links) => links.map((link) => Number(link.style.getPropertyValue('--v')))"
        judged = page.locator("#cells a.judged")
        values = [float(text.strip("▲ *")) for text in judged.all_inner_texts()]
        ordered = sorted(zip(values, judged.evaluate_all(strengths), strict=True), reverse=True)
        assert [strength for _, strength in ordered] == sorted(strength for _, strength in ordered)
        facts = page.locator("#cells a.fact")
        assert facts.evaluate_all(strengths) == pytest.approx(shown_in(page, 0), abs=6e-4)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            strongest: dict[str, str] = {}
            for strength in (0.1, 0.5, 1):
                for scale, colour, contrast in page.evaluate(CONTRAST, strength):
                    assert contrast >= 4.5  # WCAG 2.2, AA
                    strongest[scale] = colour
            assert set(strongest) == {"fact", "judged"}
            assert strongest["fact"] != strongest["judged"]
        page.get_by_role("combobox", name="score").select_option("s_kld")
        assert page.locator("#cells a.fact").count() == 0  # facts cannot be true and alike


def test_the_matrix_sorts_by_name_and_by_value(finished: Finished, opened: Open) -> None:
    with opened(finished(*FAILING) / "report.html") as shown:
        page = shown.page
        heads = page.locator("#cells thead th")
        values = shown_in(page, BASE)
        assert values[0] != values[1]
        for ordered in (sorted(values), sorted(values, reverse=True)):
            heads.nth(BASE + 1).get_by_role("button").press("Enter")
            assert shown_in(page, BASE) == ordered
        assert heads.nth(BASE + 1).get_attribute("aria-sort") == "descending"
        page.locator("#filters").get_by_role("combobox", name="attribute").select_option(
            "race"
        )  # it stays sorted
        assert shown_in(page, BASE) == sorted(shown_in(page, BASE), reverse=True)
        heads.first.get_by_role("button").press("Enter")
        names = page.locator("#cells tbody th").all_inner_texts()
        assert names == sorted(names)
        assert heads.nth(BASE + 1).get_attribute("aria-sort") is None


def test_headings_explain_themselves(finished: Finished, opened: Open) -> None:
    """To the pointer and to the keyboard, until Escape; in the words that the metric declares."""
    with opened(finished(*FAILING) / "report.html") as shown:
        page, tip = shown.page, shown.page.locator("#tip")
        assert not tip.is_visible()
        heading = page.locator("#scores thead").get_by_role("button", name="S_KLD").first
        heading.hover()
        assert tip.inner_text() == METRICS["s_kld"].meaning
        assert METRICS["s_kld"].question[1:] in tip.inner_text()
        page.mouse.move(2, 2)
        assert not tip.is_visible()
        heading.focus()
        assert tip.is_visible()
        assert heading.get_attribute("aria-describedby") == tip.get_attribute("id")
        assert tip.get_attribute("role") == "tooltip"
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        assert heading.get_attribute("aria-describedby") is None
        for section in ("gates", "diagnostics"):  # tables that sort, folded
            page.locator(f"#{section} summary").first.click()
            page.locator(f"#{section} thead button").last.focus()
            assert tip.is_visible()


def test_a_cell_has_an_address(finished: Finished, opened: Open) -> None:
    report = finished(*FAILING) / "report.html"
    with opened(report) as shown:
        page, dialog = shown.page, shown.page.get_by_role("dialog")
        page.locator("#cells td a").nth(1).click()
        title, address = dialog.get_by_role("heading").first.inner_text(), page.url
        assert "#cell/" in address
        page.go_back()
        expect(dialog).not_to_be_visible()
        page.go_forward()
        expect(dialog).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).not_to_be_visible()
        expect(page).to_have_url(report.as_uri())
        page.goto("about:blank")
        page.goto(address)
        expect(dialog).to_be_visible()
        assert dialog.get_by_role("heading").first.inner_text() == title
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).not_to_be_visible()
        expect(page).not_to_have_url(re.compile("#cell/"))
        page.goto(f"{report.as_uri()}#cell/no/such/cell")
        expect(dialog).not_to_be_visible()
        assert shown.console == []


def pasted(page: Page, cell: Locator) -> list[str]:
    """The words that a shell makes of what a cell's dialog offers to paste."""
    cell.click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#copied")).to_have_text("Copied")
    text = page.get_by_role("textbox", name=re.compile("after pytest -k")).input_value()
    page.keyboard.press("Escape")
    return shlex.split(f"-k {text}")


def test_its_cases_are_selected_by_what_it_offers_to_paste(project: Project, opened: Open) -> None:
    project.run()
    cases = {case["case"] for case in project.report()["cases"]}
    selected: list[tuple[list[str], set[str]]] = []
    with opened(project.path / ".factorfair/report/report.html") as shown:
        for number in (0, BASE):
            cell = shown.page.locator("#cells tbody tr").first.locator("td a").nth(number)
            *_, attribute, statistic, column = str(cell.get_attribute("href")).split("/")
            topic = (f"objective-{statistic}-{attribute}-", f"subjective-{statistic}-")[number]
            of_topic = {case for case in cases if case.startswith(topic)}
            expected = {case for case in of_topic if f"-{column}-" in case or not number}
            selected.append((pasted(shown.page, cell), expected))
    for options, expected in selected:
        assert expected
        lines = project.run("--collect-only", "-q", *options).outlines
        assert {
            line.split("[", 1)[1].rstrip("]") for line in lines if "::test_checklist[" in line
        } == expected


def test_two_models_side_by_side(finished: Finished, opened: Open) -> None:
    with opened(finished(*TEXT) / "report.html") as shown:
        page, dialog = shown.page, shown.page.get_by_role("dialog")
        page.get_by_role("navigation").get_by_role("link", name="Statistics by context").click()
        page.locator("#cells td a").nth(BASE).click()
        shown.settle()
        sides = dialog.locator(".side")
        expect(sides).to_have_count(1)
        page.get_by_role("combobox", name="beside it").select_option("sim:uniform")
        expect(sides).to_have_count(2)
        shown.settle()
        assert sides.locator("h3 bdi").all_inner_texts() == ["sim:stereotyped", "sim:uniform"]
        sides.first.locator("summary").first.click()
        expect(sides.last.locator("details").first).to_have_attribute("open", "")
        prompts = [side.locator("details[open] .prompt").first.inner_text() for side in sides.all()]
        assert prompts[0] == prompts[1]
        assert shown.violations("dialog[open]") == []
        assert shown.console == []


def test_replies_can_be_searched(finished: Finished, opened: Open) -> None:
    folder = finished(*FAILING)
    with opened(folder / "report.html") as shown:
        page = shown.page
        page.get_by_role("searchbox", name=re.compile("words in a question")).fill("REFUSED")
        expect(page.locator("#found")).to_contain_text("replies on this page")
        hits, total = (
            int(number.replace(",", ""))
            for number in re.findall(r"[\d,]+", page.locator("#found").inner_text())[:2]
        )
        results = page.locator("#results .reply")
        assert 0 < hits < total
        assert results.count() == min(hits, 50)
        assert all("refused" in text.lower() for text in results.all_inner_texts())
        assert shown.violations("#results") == []
        page.locator("#results a").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.locator("#search").fill("no reply has these words")
        expect(page.locator("#found")).to_contain_text(f"0 of {total:,} replies")
        assert results.count() == 0


def test_the_tree_marks_and_opens_what_moved_a_failed_score(finished: Finished, opened: Open) -> None:
    """FAIntbench's scores are cells like those of the matrix: marks, addresses, a text for -k, pictures."""
    folder = finished(*PAINTED)
    (gate,) = report_of(folder)["gates"]
    assert gate["verdict"] == "failed"
    movers = {mover["topic"]: mover["cases"]["select"] for mover in gate["explanation"]["movers"]}
    assert movers
    with opened(folder / "report.html") as shown:
        page, trees = shown.page, shown.page.locator("#trees")
        for name in ("characteristic", "positive", "negative"):
            trees.get_by_role("button", name=name).click()
        gender = next(
            number
            for number, text in enumerate(trees.locator("thead th").all_inner_texts())
            if "gender" in text
        )
        prompts = trees.locator("tr.depth-3").all()
        texts = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in prompts}
        marked = {name for name, cells in texts.items() if any("▲" in cell for cell in cells)}
        assert marked == set(movers)
        assert all("▲" in texts[name][gender - 1] for name in movers)
        assert trees.locator("thead th", has_text="▲").all_inner_texts() == ["▲ implicit gender"]
        trees.locator("thead button", has_text="race").hover()
        expect(page.get_by_role("tooltip")).to_contain_text("shares in reality")

        name, case = next(iter(movers.items()))
        page.locator("#verdict").get_by_role("link", name=f"{name}, gender").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("details").first.wait_for()
        assert page.locator("#select").input_value() == f'"{case}"'
        assert (
            f"FAILED: {gate['subject']}; this cell is among those that moved it most" in dialog.inner_text()
        )
        assert [details.get_attribute("data-case") for details in dialog.locator("details").all()] == [case]
        expect(dialog.locator(".reply")).to_have_count(8)
        assert shown.violations("dialog[open]") == []
        page.set_viewport_size({"width": 390, "height": 900})
        assert dialog.evaluate("(one) => one.scrollWidth <= one.clientWidth")  # nothing is cut off on a phone
        address = page.url
        page.keyboard.press("Escape")
        page.goto("about:blank")
        page.goto(address)
        expect(dialog.locator("details").first).to_have_attribute("data-case", case)
        assert shown.console == []
