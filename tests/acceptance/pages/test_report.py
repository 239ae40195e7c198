"""report.html in a real browser: it needs no network, says nothing to the console, and opens down to replies."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.acceptance.pages.browser import SCREENS, Open, Scheme
from tests.finished import FAILING, PAINTED, TEXT, Finished
from tests.project import Project
from tests.servers import StubServer

ROOT = Path(__file__).parents[3]
SEVERAL = (
    "--factorfair-model=sim:stereotyped?refuse=0.05",
    "--factorfair-model=sim:ideal",
    f"--factorfair-checklist={ROOT / 'tests/data/small.yaml'}",
    f"--factorfair-checklist={ROOT / 'conftest_examples/own_checklist/commuting.yaml'}",
    "--factorfair-gate=default",
    "FACTORFAIR_LOOKS=1",
)
"""Two models on two checklists, whose attributes are not the same."""

SCREEN = 900
"""The height of the browser's window."""

UNFOLD = "document.querySelectorAll('.fold').forEach((fold) => fold.open = true)"


@pytest.fixture(params=["text", "pictures", "two models and a baseline"])
def report(request: pytest.FixtureRequest, finished: Finished) -> Path:
    if request.param == "two models and a baseline":
        former = finished(*TEXT) / "report.json"
        return finished(*TEXT, "--factorfair-seed=1", f"--factorfair-baseline={former}") / "report.html"
    return finished(*{"text": FAILING, "pictures": PAINTED}[request.param]) / "report.html"


@SCREENS
def test_it_is_quiet_accessible_and_as_wide_as_the_screen(
    report: Path, opened: Open, scheme: Scheme, width: int
) -> None:
    """Its first screen says whether to ship and why; below that is what to do.

    Links are named as their sections. Unfolded, it is as accessible, and no wider.
    """
    release = json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))["release"]
    with opened(report, scheme=scheme, width=width) as shown:
        page = shown.page
        word, _, models = page.title().partition(": ")
        assert word in ("FAIL", "UNDECIDED")
        assert page.inner_text(".verdict h2").startswith(f"{word}: ")
        assert models.startswith("sim:stereotyped")
        verdict = page.locator("#verdict")
        for text in (release["counts"], release["advice"]):
            box = verdict.get_by_text(text).first.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < SCREEN
        told = verdict.inner_text()
        assert told.index(release["advice"]) < told.index("What to do\n\n" + release["next_step"])
        assert "headline" not in page.locator("main").inner_text()
        page.evaluate(UNFOLD)
        shown.settle()
        links = page.get_by_role("navigation").get_by_role("link").all()
        assert len(links) > 4
        for link in links[1:]:  # the first one leads to the verdict
            section = page.locator(str(link.get_attribute("href")))
            assert section.locator("h2").inner_text() == link.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert shown.violations() == []
        assert shown.console == []
        assert [url for url in shown.requests if not url.startswith("data:")] == [report.as_uri()]


@pytest.mark.slow  # two runs of the whole checklist
@pytest.mark.parametrize(
    ("models", "word", "height"),
    [
        (("ideal",), "PASS", 4000),
        (("stereotyped",), "FAIL", 3900),
        (("stereotyped?strength=0.6", "refusing"), "FAIL", 5500),
    ],
)
def test_a_whole_run_is_read_in_minutes(
    models: tuple[str, ...], word: str, height: int, finished: Finished, opened: Open
) -> None:
    """What passed is folded, and unfolded by the links to it; its report.json is small enough to send."""
    folder = finished(*(f"--factorfair-model=sim:{model}" for model in models), "--factorfair-gate=default")
    assert (folder / "report.json").stat().st_size < 3e6 * len(models)
    with opened(folder / "report.html") as shown:
        page = shown.page
        assert page.title().startswith(word)
        assert page.evaluate("document.documentElement.scrollHeight") <= height
        for link in page.get_by_role("navigation").get_by_role("link").all():
            link.click()
            folds = page.locator(f"{link.get_attribute('href')} > .fold")
            assert folds.evaluate_all("(folds) => folds.every((fold) => fold.open)")
        assert page.locator("#contexts-chart svg, #planes svg").count() == 3
        assert shown.console == []


def test_gates_are_sentences_with_their_expressions_behind_them(finished: Finished, opened: Open) -> None:
    """The table is folded, because the page begins with what did not pass; failures come first."""
    folder = finished(*FAILING)
    gates = json.loads((folder / "report.json").read_text(encoding="utf-8"))["gates"]
    with opened(folder / "report.html") as shown:
        section, table = shown.page.locator("#gates"), shown.page.locator("#gates table")
        assert not table.is_visible()
        counts = Counter(gate["verdict"] for gate in gates)
        for verdict, count in counts.items():
            assert f"{count} {verdict}" in section.inner_text()
        shown.page.get_by_role("navigation").get_by_role("link", name="Gates").click()
        rows = table.locator("tbody tr")
        assert rows.count() == len(gates)
        signs = [sign.lower() for sign in rows.locator(".sign").all_inner_texts()]
        order = ("failed", "waived", "inconclusive", "not judged", "passed")
        assert signs == sorted(signs, key=order.index)
        assert Counter(signs) == counts
        sentences = rows.locator("summary").all_inner_texts()
        assert sorted(sentences) == sorted(gate["explanation"]["sentence"] for gate in gates)
        passed = next(gate for gate in gates if gate["verdict"] == "passed")
        row = rows.filter(has=shown.page.get_by_text(passed["explanation"]["sentence"], exact=True))
        assert not row.get_by_text(passed["reason"]).is_visible()
        row.locator("summary").click()
        behind = row.locator("p").inner_text()
        assert behind == f"{passed['expression']} on {passed['subject']}: {passed['reason']}"
        for descending in (False, True):
            table.get_by_role("button", name="answers").click()
            texts = rows.locator("td:last-child").all_inner_texts()
            numbers = [int(text.replace(",", "")) for text in texts]
            assert numbers == sorted(numbers, reverse=descending)
            assert len(set(numbers)) > 1


def test_verdicts_on_the_same_answers_are_told_once(finished: Finished, opened: Open) -> None:
    """S_E and S_KLD of one context and attribute fail together; no example is quoted twice."""
    folder = finished(*FAILING)
    with opened(folder / "report.html") as shown:
        entry = shown.page.locator('#verdict > ul > li[data-subject="s_e[base,gender]"]')
        assert entry.locator('li[data-subject="s_kld[base,gender]"]').count() == 1
        notes = shown.page.locator("#verdict .note").all_text_contents()
        examples = [note for note in notes if note.startswith("For example: ")]
        assert len(set(examples)) == len(examples) > 0


def test_tables_are_cut_off_on_a_phone_only_and_keep_their_first_column(
    finished: Finished, opened: Open
) -> None:
    wider = """() => [...document.querySelectorAll(".scroll:has(table)")]
        .filter((one) => one.scrollWidth > one.clientWidth)
        .map((one) => { one.scrollLeft = one.scrollWidth; return one.querySelector("tbody tr > :first-child")
        .getBoundingClientRect().left - one.getBoundingClientRect().left })"""
    with opened(finished(*FAILING) / "report.html") as shown:
        shown.page.evaluate(UNFOLD)
        assert shown.page.evaluate(wider) == []
        shown.page.set_viewport_size({"width": 400, "height": SCREEN})
        lefts = shown.page.evaluate(wider)
        assert lefts
        assert lefts == pytest.approx([0] * len(lefts), abs=1)


def test_a_cell_opens_down_to_the_replies(finished: Finished, opened: Open) -> None:
    folder = finished(*FAILING)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    topic_of_cell = ("subjective", "base", "gender", "crime_rate")
    ends = [topic for topic in report["topics"]
            if (topic["part"], topic["context"], topic["attribute"], topic["statistic"]) == topic_of_cell]  # fmt: skip
    entropies = []
    for end in ends:
        counts = [count for count in end["counts"].values() if count]
        shares = [count / sum(counts) for count in counts]
        entropies.append(-sum(share * math.log2(share) for share in shares))
    with opened(folder / "report.html") as shown:
        page = shown.page
        page.locator("#filters").get_by_role("combobox", name="attribute").select_option("gender")
        page.get_by_role("searchbox", name="statistic").fill("crime")
        assert page.locator("#cells tbody tr").count() == 1
        assert page.locator("#shown").inner_text() == "1 of 2 statistics"
        cell = page.locator("#cells td a").nth(1)
        assert float(cell.inner_text().strip("▲ *")) == pytest.approx(sum(entropies) / 2, abs=6e-4)
        cell.click()
        shown.settle()
        dialog = page.get_by_role("dialog")
        for end in ends:
            told_counts = ", ".join(f"{group} {count}" for group, count in end["counts"].items())
            lost = f"refused {end['refused']}, unparsed 0, errors 0; of {end['asked']} asked"
            assert f"{told_counts}; {lost}" in dialog.inner_text()
        cases = dialog.locator("details")
        assert cases.count() == sum(
            case["case"].startswith("subjective-crime_rate-") and "-base-" in case["case"]
            for case in report["cases"]
        )
        cases.first.locator("summary").click()
        replies = cases.first.locator(".reply")
        expect(replies).to_have_count(8)
        assert "Which of the following" in replies.first.inner_text()
        assert shown.violations("dialog[open]") == []
        assert shown.console == []
        page.keyboard.press("Escape")
        assert not dialog.is_visible()


def test_each_checklist_has_its_own_attributes_and_rows(finished: Finished, opened: Open) -> None:
    """Nothing is cut off on paper."""
    folder = finished(*SEVERAL)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    with opened(folder / "report.html") as shown:
        page = shown.page
        page.evaluate(UNFOLD)
        for checklist in ("small", "commuting", "small"):
            topics = [topic for topic in report["topics"] if topic["checklist"] == checklist]
            page.locator("#filters").get_by_role("combobox", name="checklist").select_option(checklist)
            attributes = {topic["attribute"] for topic in topics}
            assert set(page.locator("#filters select[name=attribute] option").all_inner_texts()) == attributes
            attribute = page.locator("#filters select[name=attribute]").input_value()
            n = len({topic["statistic"] for topic in topics if topic["attribute"] == attribute})
            assert page.locator("#cells tbody tr").count() == n
            every = len({topic["statistic"] for topic in topics})
            assert page.locator("#shown").inner_text() == f"{n} of {every} statistics"
        places = {
            " · ".join(
                (score["model"], score["checklist"], score["context"] or score["part"], score["attribute"])
            )
            for score in report["scores"]
            if score["metric"] == "refusal_rate"
        }
        tables = [
            table.locator("tbody th").all_inner_texts() for table in page.locator("#diagnostics table").all()
        ]
        assert set().union(*tables) == places
        assert [rows for rows in tables if len(rows) > len(set(rows))] == []
        assert len(places) > len({label.split(" · ", 2)[2] for label in places})
        assert shown.console == []
        page.set_viewport_size({"width": 718, "height": SCREEN})  # A4 between its margins
        page.emulate_media(media="print")
        cut_off = """() => [...document.querySelectorAll(".scroll")]
            .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"""
        assert page.evaluate(cut_off) == []
        right = "Math.max(...[...document.querySelectorAll('.chart svg')].map((one) => one.getBoundingClientRect().right))"
        assert page.evaluate(right) <= 718
        # However tall, the verdict begins on the first page, below the model.
        assert page.evaluate("getComputedStyle(document.querySelector('#verdict')).breakInside") == "auto"


def test_what_was_not_judged_is_reported_once(finished: Finished, opened: Open) -> None:
    part = ("-k", "objective", "FACTORFAIR_UNDECIDED=warn")
    folder = finished(*SEVERAL, *part)
    judged = json.loads((folder / "report.json").read_text(encoding="utf-8"))["gates"]
    with opened(folder / "report.html") as shown:
        assert shown.page.locator("#verdict").inner_text().count("cases are missing") == 1
        section = shown.page.locator("#gates")
        assert section.inner_text() == f"Gates\n{len(judged)} not judged"
        assert section.locator("tbody tr").count() == len(judged) > 1


def test_levels_open_down_to_prompts_and_their_lost_pictures(finished: Finished, opened: Open) -> None:
    """Nobody reads a share without its denominator."""
    folder = finished(*PAINTED)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    lost = {
        prompt["case"].rsplit("-", 1)[1]: prompt["refused"]
        for prompt in report["prompts"]
        if prompt["refused"]
    }
    assert lost
    with opened(folder / "report.html") as shown:
        trees = shown.page.locator("#trees")
        levels = trees.locator("tbody tr")
        assert levels.count() == 2  # all prompts, and the only kind of the smoke preset
        for name, shown_levels in (("characteristic", 2 + 2), ("positive", 16), ("negative", 28)):
            trees.get_by_role("button", name=name).click()
            assert levels.count() == shown_levels
        rows = trees.locator("tr.depth-3").filter(has_text="lost")
        texts = {row.locator("th").inner_text(): row.inner_text() for row in rows.all()}
        assert texts.keys() == lost.keys()
        assert all(f"{lost[name]} of 50 pictures lost" in text for name, text in texts.items())
        trees.get_by_role("button", name="characteristic").click()
        assert levels.count() == 2


def test_pictures_of_a_cell_are_small_copies(finished: Finished, opened: Open) -> None:
    folder = finished(*PAINTED)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    with opened(folder / "report.html") as shown:
        shown.page.locator("#cells td a[href*=crime_rate]").first.click()
        shown.settle()
        for direction in ("highest", "lowest"):
            name = f"objective-crime_rate-{direction}"
            answers = next(case["answers"] for case in report["cases"] if case["case"] == name)
            replies = shown.page.locator(f"#topic details[data-case='{name}'] .reply")
            pictures = replies.locator("img")
            expect(replies).to_have_count(8)
            assert 0 < pictures.count() == 8 - replies.filter(has_text="refused").count()
            read = {", ".join(answer["groups"].values()) for answer in answers if "groups" in answer}
            for picture in pictures.all():
                assert (picture.get_attribute("alt") or "").removeprefix("Picture perceived as ") in read
                assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 32
        assert shown.violations("dialog[open]") == []
        assert [url for url in shown.requests if not url.startswith("data:")] == [
            (folder / "report.html").as_uri()
        ]


HOSTILE = (
    "<script>console.log('script')</script><img src=x onerror=console.log('img')>"
    "</script><script>console.log('closed')</script> [link](javascript:console.log('md')) \u202e\x1b[31m {{ 7 * 7 }}"
)


HOSTILE_NAME = "hosted_vllm/<img src=x onerror=console.log('name')>/%2F#\"' </script>"


def test_hostile_replies_and_names_are_text(project: Project, stub: StubServer, opened: Open) -> None:
    stub.script(answer=HOSTILE)
    project.run(f"--factorfair-model-arg=base_url={stub.base_url}", "-k", "objective", model=HOSTILE_NAME)
    report = project.path / ".factorfair/report/report.html"
    with opened(report) as shown:
        shown.page.locator("#cells td a").first.click()
        shown.settle()
        details = shown.page.locator("#topic details").first
        details.locator("summary").click()
        text = details.locator(".reply pre").nth(1).text_content()
        assert text is not None
        assert "<img src=x onerror=console.log('img')>" in text
        assert "{{ 7 * 7 }}" in text
        assert shown.page.locator("#topic-model").text_content() == HOSTILE_NAME
        address = shown.page.url
        shown.page.keyboard.press("Escape")
        expect(shown.page).to_have_url(report.as_uri())
        shown.page.locator("#search").fill("onerror")
        reply = shown.page.locator("#results .reply pre").nth(1)
        reply.wait_for()
        assert "<img src=x onerror=console.log('img')>" in (reply.text_content() or "")
        shown.page.goto(address)
        shown.page.locator("#topic").wait_for()
        assert shown.console == []
        assert shown.requests == [report.as_uri()]
