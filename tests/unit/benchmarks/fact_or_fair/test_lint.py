"""Findings about the style of a valid checklist."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import lint
from pytest_factorfair.errors import ChecklistError
from tests.unit.checklist.files import CHECKLIST, STATISTICS, changed, write

FIRST = "tea.yaml:30: topics.tea_rate.highest.scenarios[0]"
SECOND = "tea.yaml:31: topics.tea_rate.highest.scenarios[1]"
LOWEST = "tea.yaml:35: topics.tea_rate.lowest.scenarios[0]"
BEHAVIOR = "tea.yaml:28: topics.tea_rate.highest.behavior"


def findings(folder: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    write(folder, checklist=changed(CHECKLIST, *changes))
    return lint("tea.yaml", base=folder)


def test_a_good_checklist_has_no_findings(tmp_path: Path) -> None:
    assert findings(tmp_path) == ()


CASES = [
    ("You make tea.", "You make tea for tall guests.", f"{FIRST}: names a group: 'tall'"),
    ("You make tea.", "You make BIG tea.", f"{FIRST}: names a group: 'BIG'"),
    ("You make tea.", "You make tea for her.", f"{FIRST}: hints at a group: 'her'"),
    ("drank tea", "drank tea with his wife", f"{BEHAVIOR}: hints at a group: 'his'"),
    ("drank tea", "drank tea in the North", f"{BEHAVIOR}: names a group: 'North'"),
    ("drank tea", "drank tea.", f"{BEHAVIOR}: ends with a full stop, and stands inside a sentence"),
    ("likely to want some?", "likely to want some.", f"{FIRST}: asks nothing: it has no question mark"),
    ("most likely to want", "likely to want", f"{FIRST}: does not ask who is most likely"),
    ("least likely to complain", "likely to complain", f"{LOWEST}: does not ask who is least likely"),
    (
        "You make tea.",
        "You make tea. Not the least likely one.",
        f"{FIRST}: asks who is least likely under 'highest'",
    ),
    (
        "You have no tea left.",
        "You have no tea left, and Bo is most likely sad.",
        f"{LOWEST}: asks who is most likely under 'lowest'",
    ),
    (" in {country}", "", "tea.yaml:10: objective.templates[0]: does not say where: {country}"),
    (
        "is {definition}.",
        "is “{definition}”.",
        'tea.yaml:10: objective.templates[0]: has quotes beside {definition}, which brings its own: "..."',
    ),
    (
        "  - '{statistic} is",
        "  - 'The {statistic} rate is",
        "tea.yaml:10: objective.templates[0]: has 'rate' beside {statistic}, which brings its own: Tea Rate",
    ),
    (
        "You make tea. Which of these {people} is",
        "You make tea. Which of these {people} people is",
        f"{FIRST}: has 'people' beside {{people}}, which brings its own: twelve people",
    ),
]


@pytest.mark.parametrize(("old", "new", "finding"), CASES)
def test_bad_style_is_found(tmp_path: Path, old: str, new: str, finding: str) -> None:
    messages = findings(tmp_path, (old, new))
    assert finding in messages
    assert all(message.startswith(finding.partition(": ")[0]) for message in messages)


@pytest.mark.parametrize(
    "text", ["You make tallow.", "You make there tea.", "You make big-ger tea.", "You wifeless."]
)
def test_part_of_a_word_is_no_clue(tmp_path: Path, text: str) -> None:
    expected = {"You make big-ger tea.": (f"{FIRST}: names a group: 'big'",)}
    assert findings(tmp_path, ("You make tea.", text)) == expected.get(text, ())


def test_direction_may_be_broken_over_lines(tmp_path: Path) -> None:
    old = "      - 'You make tea. Which of these {people} is most likely to want some?'\n"
    new = "      - |\n        You make tea. Which of these {people} is most\n        likely to want some?\n"
    assert findings(tmp_path, (old, new)) == ()


SELLING = "You sell cups. Which of these {people} is most likely to buy one?"
LACKING = "You have no tea left. Which of these {people} is least likely to complain?"


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        # Capitals, punctuation and blanks make no difference.
        (
            SELLING,
            "YOU make tea  - which of these {people} is most likely to want some?",
            f"{SECOND}: is the same",
        ),
        (
            SELLING,
            "You make tea. Which of these {people} is most likely to want more?",
            f"{SECOND}: is nearly the same",
        ),
        (
            LACKING,
            "You make tea. Which of these {people} is least likely to want some?",
            f"{LOWEST}: is nearly the same",
        ),
    ],
)
def test_scenarios_that_are_asked_twice(tmp_path: Path, old: str, new: str, finding: str) -> None:
    first = "topics.tea_rate.highest.scenarios[0], line 30"
    assert findings(tmp_path, (old, new)) == (f"{finding} as {first}",)


def test_findings_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    messages = findings(
        tmp_path, ("stood fast", "stood fast with her"), ("drank tea", "drank tea."), (" in {country}", "")
    )
    assert [message.split(":")[1] for message in messages] == ["10", "28", "41"]


def test_a_problem_of_several_texts_is_told_once(tmp_path: Path) -> None:
    stops = [
        ("drank tea", "drank tea."),
        ("stood fast", "stood fast."),
        ("      behavior: fell\n", "      behavior: fell.\n"),
    ]
    full_stop = "ends with a full stop, and stands inside a sentence"
    assert findings(tmp_path, *stops[:1]) == (f"{BEHAVIOR}: {full_stop}",)
    assert findings(tmp_path, *stops) == (f"{BEHAVIOR}: {full_stop} (also on lines 38 and 41)",)


def test_statistic_of_the_file_that_nobody_asks_about(tmp_path: Path) -> None:
    inline = "statistics:\n" + "".join(f"  {line}\n" for line in STATISTICS.splitlines())
    start = CHECKLIST.index("  fall_rate:")
    apart = CHECKLIST[:start]
    write(tmp_path, checklist=apart)
    assert lint("tea.yaml", base=tmp_path) == ()
    write(tmp_path, checklist=changed(apart, ("statistics: facts.yaml\n", inline)))
    assert lint("tea.yaml", base=tmp_path) == (
        "tea.yaml:39: statistics.statistics.fall_rate: no topic asks about it, so nothing does",
    )


def test_the_linter_looks_at_what_only_leaves(tmp_path: Path) -> None:
    inline = "statistics:\n" + "".join(f"  {line}\n" for line in STATISTICS.splitlines())
    bad = [("drank tea", "drank tea."), ("stood fast", "stood fast with her")]
    write(tmp_path, checklist=changed(CHECKLIST, ("statistics: facts.yaml\n", inline), *bad))
    assert len(lint("tea.yaml", base=tmp_path)) == len(bad)
    (tmp_path / "own.yaml").write_text("extends: tea.yaml\nname: own\nonly: {statistics: fall_rate}\n")
    (finding,) = lint("own.yaml", base=tmp_path)
    assert finding.endswith("topics.fall_rate.lowest.behavior: hints at a group: 'her'")


def test_invalid_checklist_is_refused(tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, ("title:", "titel:")))
    with pytest.raises(ChecklistError, match=r"^tea.yaml:3: titel: unknown key"):
        lint("tea.yaml", base=tmp_path)


def test_shipped_checklist_has_no_findings(tmp_path: Path) -> None:
    assert lint("fact_or_fair", base=tmp_path) == ()
