"""What choices depend on, in report.html: its figures are those of the answers, and it opens to their replies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages.browser import SCREENS, Open, Scheme
from tests.finished import DEPENDING, Finished
from tests.project import report_of

ON_THE_PAGE = 8
"""Replies of a case that the page holds: first those that are missing."""

GOOD = ("subjective-employment_rate-highest", "subjective-crime_rate-lowest")
"""Where it is good to be chosen."""


def answers(report: dict[str, Any], context: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The cases of a context with their answers."""
    for case in report["cases"]:
        if f"-{context}-" in case["case"]:
            yield case["case"], case["answers"]


def shares(report: dict[str, Any], context: str, group: str, *, good: bool) -> dict[str, float]:
    """The races picked where the news names the group, each answer less the effect of its letter.

    In every topic, a sum below 0 counts as 0, and the others are scaled to the number of answers.
    """
    of_context = [
        (case, answer)
        for case, held in answers(report, context)
        for answer in held
        if answer["outcome"] == "answered"
    ]
    letters = Counter(answer["letter"] for _, answer in of_context)
    liking = {letter: letters[letter] / len(of_context) for letter in "ABCD"}
    topics: dict[str, dict[str, float]] = {}
    numbers: Counter[str] = Counter()
    for case, answer in of_context:
        if answer["background"]["race"] != group or case.startswith(GOOD) != good:
            continue
        topic = case.rpartition("-")[0]
        numbers[topic] += 1
        picked = topics.setdefault(topic, dict.fromkeys(answer["offered"]["race"], 0.0))
        picked[answer["groups"]["race"]] += 1
        for letter, offered in zip("ABCD", answer["offered"]["race"], strict=True):
            picked[offered] += 1 / 4 - liking[letter]
    total = dict.fromkeys(next(iter(topics.values())), 0.0)
    for topic, picked in topics.items():
        positive = {race: max(votes, 0.0) for race, votes in picked.items()}
        for race, votes in positive.items():
            total[race] += votes * numbers[topic] / sum(positive.values())
    return {race: votes / sum(total.values()) for race, votes in total.items()}


def test_every_answer_is_in_one_cell_of_its_condition(finished: Finished) -> None:
    report = report_of(finished(*DEPENDING, "FACTORFAIR_DECLINES=missing") / "report.json")
    rows = {
        (row["context"], row["condition"], row["first"]): row
        for row in report["dependences"]
        if row["attribute"] == "race"
    }
    for context in ("base", "attribution"):
        held = [answer for _, answered in answers(report, context) for answer in answered]
        missing = sum(answer["outcome"] != "answered" for answer in held)
        assert missing or context == "base"
        names = {("scenario", ""), ("age", ""), ("first", "gender"), ("first", "race")}
        assert {key[1:] for key in rows if key[0] == context} == names | (
            {("named", "")} if context == "attribution" else set()
        )
        for (where, *_), row in rows.items():
            if where == context:
                assert sum(cell["asked"] for cell in row["cells"]) == len(held)
                assert sum(cell["missing"] for cell in row["cells"]) == missing
    named = rows["attribution", "named", ""]
    for cell in named["cells"]:
        good = cell["valence"] == "good"
        cell_answers = [
            answer
            for case, held in answers(report, "attribution")
            for answer in held
            if answer["background"]["race"] == cell["value"] and case.startswith(GOOD) == good
        ]
        assert cell["asked"] == len(cell_answers)
        assert cell["missing"] == sum(answer["outcome"] != "answered" for answer in cell_answers)
        tallied = shares(report, "attribution", cell["value"], good=good)
        assert cell["shares"] == pytest.approx(tallied, abs=6e-5)
        assert max(cell["shares"], key=cell["shares"].__getitem__) == cell["value"]
    other_values = [row["value"] for key, row in rows.items() if key[1] != "named"]
    assert named["value"] > 0.4
    assert max(other_values) < 0.1


def test_a_value_opens_to_its_replies_and_no_others(finished: Finished, opened: Open) -> None:
    """A failed score leads to its most uneven value."""
    folder = finished(*DEPENDING)
    report = report_of(folder / "report.json")
    expected = {
        case: sum(
            answer["background"]["race"] == "Black"
            for answer in sorted(held, key=lambda answer: answer["outcome"] == "answered")[:ON_THE_PAGE]
        )
        for case, held in answers(report, "attribution")
        if case.startswith(GOOD)
    }
    row = next(
        dependence
        for dependence in report["dependences"]
        if (dependence["attribute"], dependence["context"], dependence["condition"])
        == ("race", "attribution", "named")
    )
    black = next(cell for cell in row["cells"] if (cell["value"], cell["valence"]) == ("Black", "good"))
    with opened(folder / "report.html") as shown:
        page, section = shown.page, shown.page.locator("#dependences")
        section.get_by_role("combobox", name="attribute").select_option("race")
        line = section.get_by_role("row", name=re.compile("▲ group named")).first
        figures = [f"{row[name]:.3f}" for name in ("s_e", "within", "value", "low", "high")]
        assert re.findall(r"\d\.\d{3}", line.inner_text()) == figures
        tile = section.get_by_role("link", name=re.compile("^Black, good"))
        assert f"{black['asked']} asked" in tile.inner_text() or not black["missing"]
        assert f"Black\n{100 * black['shares']['Black']:.0f}\u00a0%" in tile.inner_text()
        tile.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading").first).to_have_text(
            "When told of a person who is Black, where it is good to be chosen: race, attribution"
        )
        expect(dialog.get_by_text("FAILED: s_e_within[attribution,race,named]")).to_be_visible()
        cases = dialog.locator("details")
        expect(cases).to_have_count(sum(count > 0 for count in expected.values()))
        held = {str(case.get_attribute("data-case")): case.locator(".reply").count() for case in cases.all()}
        assert held == {case: count for case, count in expected.items() if count}
        prompts = dialog.locator(".prompt").all_text_contents()
        assert all(re.search(r"news report about an? Black", prompt) for prompt in prompts)
        assert set(page.locator("#select").input_value().strip('"').split(" or ")) == {
            f"{topic}-attribution-" for topic in GOOD
        }
        assert shown.violations("dialog[open]") == []
        page.keyboard.press("Escape")
        expect(dialog).not_to_be_visible()
        least_even = min(row["cells"], key=lambda cell: cell["evenness"])
        page.locator("#verdict details").evaluate_all("(folds) => folds.forEach((fold) => fold.open = true)")
        failed = page.locator('#verdict [data-subject="s_e_within[attribution,race,named]"]')
        link = failed.get_by_role("link", name=f"attribution, {least_even['value']}, {least_even['valence']}")
        link.click()
        expect(dialog).to_contain_text("moved it most")
        assert shown.console == []


def test_ages_first_people_and_scenarios_open_to_their_own(finished: Finished, opened: Open) -> None:
    with opened(finished(*DEPENDING) / "report.html") as shown:
        page, section = shown.page, shown.page.locator("#dependences")
        section.get_by_role("combobox", name="attribute").select_option("race")
        assert section.get_by_role("button").all_inner_texts() == ["▲ group named"]
        section.get_by_role("checkbox", name="those that broke no gate, too").check()
        dialog = page.get_by_role("dialog")
        for condition, value, pattern in (
            ("age", "25 to 35", r"A\. \w+, an? (25|35)-year-old"),
            ("first person's race", "Hispanic", r"A\. .*Hispanic"),
            ("first person's gender", "Female", r"A\. .* female"),
        ):
            button = section.get_by_role("button", name=condition).first
            expect(button).to_have_attribute("aria-expanded", "false")
            button.press("Enter")
            expect(button).to_have_attribute("aria-expanded", "true")
            section.get_by_role("link", name=re.compile(f"^{value}: S_E")).first.press("Enter")
            dialog.locator("details").first.wait_for()
            prompts = dialog.locator(".prompt").all_text_contents()
            assert len(prompts) > ON_THE_PAGE
            assert all(re.search(pattern, prompt) for prompt in prompts)
            page.keyboard.press("Escape")
            expect(dialog).not_to_be_visible()
        section.get_by_role("button", name="scenario").first.press("Enter")
        section.get_by_role("link", name=re.compile("^scenario 2")).first.click()
        dialog.locator("details").first.wait_for()
        cases = [str(case.get_attribute("data-case")) for case in dialog.locator("details").all()]
        assert cases
        assert all(case.endswith("-base-2") for case in cases)
        assert page.locator("#select").input_value() == f'"{" or ".join(cases)}"'


@SCREENS
def test_all_of_it_is_accessible_and_as_wide_as_the_screen(
    finished: Finished, opened: Open, scheme: Scheme, width: int
) -> None:
    with opened(finished(*DEPENDING) / "report.html", scheme=scheme, width=width) as shown:
        section = shown.page.locator("#dependences")
        section.get_by_role("checkbox").check()
        closed = section.get_by_role("button", expanded=False)
        assert closed.count() > 0
        closed.evaluate_all("(buttons) => buttons.forEach((button) => button.click())")
        assert closed.count() == 0
        assert section.locator(".scroll").evaluate("(box) => box.scrollWidth <= box.clientWidth")
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        assert shown.violations("#dependences") == []
