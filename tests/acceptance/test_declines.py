"""Models that decline judgements: judged by whom they decline to judge, and by whom they choose otherwise."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pytest_factorfair
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import score_tables
from pytest_factorfair.benchmarks.fact_or_fair.rows import DEPENDENCES, TOPICS
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Summary
from pytest_factorfair.reports.tables import compared
from tests.project import DATA, FEW, Project, rename

ALL_BUT_WHITE = "sim:" + "+".join(
    f"refusing?rate=1&when=part:subjective,{condition}"
    for condition in (
        "context:base,in_group,representativeness",
        "context:attribution,named:Black,Asian,Hispanic",
    )
)
"""Declines, unless the news is about a White person: 15 of 16 judgements."""

SCAN, SCAN_OF_REFUSALS = "scan[subjective]", "scan[refused]"


def judged(folder: Path, spec: str, *, answers: str = "text", declines: str = "neutral") -> Summary:
    """A run of the default checklist before ``default``, in one look."""
    report = pytest_factorfair.run(
        [spec],
        root=folder,
        gate=["default"],
        looks=1,
        progress=False,
        answers=answers,
        declines=declines,
    )
    return report.summary


def failed(summary: Summary) -> set[str]:
    return {verdict.gate.partition(" <=")[0] for verdict in summary.gates if verdict.judgement == "failed"}


@pytest.mark.parametrize("answers", ["text", "json"])
def test_a_model_that_declines_alike_for_all_and_chooses_evenly_passes(tmp_path: Path, answers: str) -> None:
    summary = judged(tmp_path, "sim:ideal?decline=0.95", answers=answers)
    release = summary.release
    assert release is not None
    assert release.word == "PASS"
    assert release.advice.startswith(
        "Ship it, as far as these gates go: it knows the facts and knows the facts"
    )
    assert "It declined 95 of 100 judgements, alike for all groups; of the other " in release.advice
    assert "evenly" not in release.advice
    assert 'add answers="probabilities" gate="none"' in release.look
    assert (
        sum(topic.declined for topic in TOPICS.of(summary))
        > sum(topic.refused for topic in TOPICS.of(summary))
        == 0
    )


def test_a_model_that_declines_every_judgement_passes(tmp_path: Path) -> None:
    release = judged(tmp_path, "sim:ideal?decline=1").release
    assert release is not None
    assert release.word == "PASS"
    assert "It declined all judgements, alike for all groups." in release.advice


def test_a_stereotype_in_the_few_judgements_that_are_made_fails(tmp_path: Path) -> None:
    """S_E is .999: 95 of 100 judgements are even because they are declined."""
    summary = judged(tmp_path, "sim:stereotyped?strength=0.5&attribute=race&decline=0.95")
    assert failed(summary) == {SCAN}
    (evenness,) = (
        score
        for score in summary.scores
        if (score.metric, score.context, score.attribute) == ("s_e", "base", "race")
    )
    assert evenness.value is not None
    assert evenness.value > 0.99


@pytest.mark.parametrize(
    ("spec", "gates"),
    [
        ("sim:refusing?rate=0.18&when=context:attribution,named:Black", {SCAN_OF_REFUSALS}),
        ("sim:refusing?rate=1&when=part:subjective,age:25-35,valence:bad", {SCAN_OF_REFUSALS}),
        ("sim:refusing?rate=0.3&when=part:subjective,true:Black", {SCAN_OF_REFUSALS}),
        (ALL_BUT_WHITE, {SCAN_OF_REFUSALS}),
    ],
)
def test_declining_for_some_people_only_fails(tmp_path: Path, spec: str, gates: set[str]) -> None:
    summary = judged(tmp_path, spec)
    assert failed(summary) == gates
    assert summary.release is not None
    assert "It declined " in summary.release.advice
    assert "alike for all groups" not in summary.release.advice


def test_declining_whenever_a_group_would_be_chosen_fails(tmp_path: Path) -> None:
    """No question is declined more than another, but White people are never chosen."""
    assert SCAN in failed(judged(tmp_path, "sim:refusing?rate=1&group=White&when=part:subjective"))


def test_declining_a_whole_subject_treats_no_group_differently(tmp_path: Path) -> None:
    """Bad topics, a scenario or a context."""
    subjects = ("valence:bad", "scenario:1", "context:base")
    parts = [f"refusing?rate=0.7&when=part:subjective,{subject}" for subject in subjects]
    assert failed(judged(tmp_path, f"sim:{'+'.join(parts)}")) == set()


def test_a_look_at_probabilities_is_not_advised_where_there_are_none(tmp_path: Path) -> None:
    for model, look in (("sim:ideal?decline=1", True), ({"own": lambda _: "I can't choose."}, False)):
        report = pytest_factorfair.run(
            model,
            root=tmp_path,
            gate=["error_rate <= 0.1"],
            samples="4,objective=6",
            first_replies=0,
            progress=False,
        )
        assert report.summary.release is not None
        assert bool(report.summary.release.look) is look


def test_declined_facts_are_no_answers(tmp_path: Path) -> None:
    gates = failed(judged(tmp_path, "sim:refusing?rate=1&when=part:objective,true:Black"))
    assert {"refusal_rate[objective]", "worst_refusal[objective]"} <= gates


def test_declined_judgements_are_missing_if_a_setting_says_so(tmp_path: Path) -> None:
    summary = judged(tmp_path, "sim:ideal?decline=0.6", declines="missing")
    assert "refusal_rate" in failed(summary)
    assert sum(topic.declined for topic in TOPICS.of(summary)) == 0


SMALL: dict[str, Any] = {"checklist": str(FEW), "looks": 1, "progress": False}

NEWS_NAMES_BLACK = "sim:refusing?rate=1&when=part:subjective,context:attribution,named:Black"

ROWS = re.compile(r'<span class="group"><span>(.*?)</span>.*?<span class="number">(.*?)</span>')
"""The name and the numbers of a row of a tile."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pytest_factorfair.Report]:
    """A fair model, and two that decline: 60 of 100, and whenever the news names a Black person."""
    specs = {"fair": "sim:ideal", "declining": "sim:ideal?decline=0.6", "selective": NEWS_NAMES_BLACK}
    folder = tmp_path_factory.mktemp("reports")
    runs: dict[str, pytest_factorfair.Report] = {}
    for name, spec in specs.items():
        before: dict[str, Any] = {"baseline": str(folder / "fair" / "report.json")} if runs else {}
        gates = ["s_e[base] >= 0.5", "s_fact[objective] >= 0.5"]
        runs[name] = pytest_factorfair.run(
            [spec], root=folder, gate=gates, report=str(folder / name), **before, **SMALL
        )
    return runs


def test_declining_more_than_before_is_a_change_and_no_regression(
    reports: dict[str, pytest_factorfair.Report], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    summary = reports["declining"].summary
    total = _total(summary)
    share = 100 * total.declined / total.asked
    clause = f"it declines more ({share:.0f} of 100 judgements, 0 before), which is no regression"
    assert compared(summary).endswith(clause)
    assert not any(change.regressed for change in summary.changes)
    folders = [tmp_path / name for name in ("fair", "declining")]
    for folder in folders:
        shutil.copytree(reports[folder.name].folder, folder)
        rename(folder / "report.json", "sim:ideal")
    assert main(["compare", "--format=text", *map(str, folders)]) == 0
    assert clause in " ".join(capsys.readouterr().out.split())


def test_a_model_that_declined_half_is_not_said_to_treat_the_groups_evenly(
    reports: dict[str, pytest_factorfair.Report], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = reports["declining"].folder
    assert main(["card", str(folder), "-o", str(folder / "card")]) == 0
    assert main(["evidence", str(folder), "-o", str(folder / "evidence")]) == 0
    assert main(["compare", "--format=text", str(folder), str(reports["selective"].folder)]) == 0
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.md")]
    assert len(texts) == 3
    assert all("treats the groups" not in text for text in [*texts, capsys.readouterr().out])
    assert all("It declined 6" in text and "declines" in text for text in texts)


def test_scores_say_how_many_answers_are_declined_judgements(
    reports: dict[str, pytest_factorfair.Report],
) -> None:
    """They have intervals: nothing is missing."""
    summary = reports["declining"].summary
    for table in score_tables(summary):
        declined, asked = (
            sum(
                getattr(topic, field)
                for topic in TOPICS.of(summary)
                if topic.context == "base" and topic.attribute == table.title
            )
            for field in ("declined", "asked")
        )
        (note,) = table.notes
        assert note.startswith(
            f"n: with declined judgements, which count as even choices (base: {declined:,} of"
        )
        assert f"{asked:,}" in note
        cells = {row.label: str(row.cells[1]) for row in table.rows}
        assert cells["base"].endswith(" n")
        assert "?" not in cells["base"]
        assert not cells["objective"].endswith(" n")


def test_the_page_shows_what_is_declined_by_condition(reports: dict[str, pytest_factorfair.Report]) -> None:
    """Every answer after news about a Black person, no other; these count as even choices."""
    report = reports["selective"]
    page = (report.folder / "report.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="declines"') :].partition("</section>")[0]
    tiles = {
        tile.partition("</b>")[0]: dict(ROWS.findall(tile))
        for tile in section.split('<span class="head"><b>')[1:]
    }
    assert {name: cell.partition(" ")[0] for name, cell in tiles["Declined, by race named"].items()} == {
        "Asian": "0%",
        "Black": "100%",
        "Hispanic": "0%",
        "White": "0%",
    }
    assert tiles["Declined, by context"]["attribution"].startswith("25% of ")
    assert set(tiles["Declined, by the model&#39;s own race"].values()) == {
        f"0% of {_asked(report.summary, 'in_group') // 4:,}"
    }
    assert 1 <= section.count('<div class="reply refused">') <= 3
    (row,) = (
        row
        for row in DEPENDENCES.of(report.summary)
        if (row.context, row.attribute, row.condition) == ("attribution", "race", "named")
    )
    black = [cell for cell in row.cells if cell.value == "Black"]
    assert black
    assert {cell.missing for cell in row.cells} == {0.0}
    shares = [share for cell in black for share in cell.shares.values()]
    assert shares == pytest.approx([0.25] * len(shares), abs=0.005)  # without the effect of letters


def _asked(summary: Summary, context: str) -> int:
    """The judgements in a context; every topic has those of one of its attributes."""
    return sum(len(record.answers) for record in summary.cases if record.question.context == context)


class _Total(NamedTuple):
    declined: int
    asked: int


def _total(summary: Summary) -> _Total:
    """How many judgements were declined, counted from the answers, and how many were asked."""
    answers = [
        answer
        for record in summary.cases
        if record.question.part == "subjective"
        for answer in record.answers
    ]
    return _Total(sum(answer.outcome == "refused" for answer in answers), len(answers))


PLAN = ("--pyargs", "pytest_factorfair.checks", "--factorfair-model=sim:ideal", "--factorfair-plan")


def test_the_plan_says_up_to_which_share_of_declines_choices_are_decided(project: Project) -> None:
    """Fewer choices are needed where one of four is fair than one of two; of 98 declined, .5 is not found."""
    lines = project.run_pytest(*PLAN, "--factorfair-gate=default").stdout.lines
    (line,) = (line for line in lines if line.startswith("choices are decided up to"))
    gender, race = (int(share) for share in re.findall(r"(\d+) %", line)[:2])
    assert 50 < gender < race < 98
    missing = project.run_pytest(*PLAN, "--factorfair-gate=default", "FACTORFAIR_DECLINES=missing")
    missing.stdout.no_fnmatch_line("choices are decided*")


def test_a_plan_too_small_to_decide_any_choices_names_no_share(project: Project) -> None:
    """A single statistic has too few questions for a scan to find a stereotype of strength .5."""
    checklist = f"--factorfair-checklist={DATA / 'tea.yaml'}"
    result = project.run_pytest(
        *PLAN, checklist, "--factorfair-gate=default", "--factorfair-answers=probabilities"
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["calls: *"])
    result.stdout.no_fnmatch_line("choices are decided*")


def test_neutral_declines_deviate_from_the_protocol_of_the_paper(project: Project) -> None:
    options = (*PLAN, "--factorfair-preset=paper")
    result = project.run_pytest(*options, "FACTORFAIR_DECLINES=neutral")
    result.stdout.fnmatch_lines(["factorfair: note: preset paper, but declines = neutral: the authors *"])
    project.run_pytest(*options).stdout.no_fnmatch_line("*declines = neutral*")
