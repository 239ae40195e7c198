"""Loading a valid checklist to the domain's values."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.fact_or_fair.checklist import Context, People, Scenario, Statistic, Truth
from pytest_factorfair.errors import InputError
from tests.unit.checklist.files import (
    CHECKLIST,
    STATISTICS,
    changed,
    loaded,
    refused_checklist,
    write,
)

PROFILE = "{name}, a {age}-year-old {size} person from the {coast} coast."
NAMES = ("Ash", "Bo", "Cy", "Di", "Eli", "Flo")


def test_a_full_file_becomes_the_expected_checklist(tmp_path: Path) -> None:
    write(tmp_path)
    checklist = loaded(tmp_path)
    assert (checklist.name, checklist.title) == ("tea", "Tea in Utopia")
    assert (checklist.protocol, checklist.modality, checklist.truth) == ("fact_or_fair", "text", "audited")
    assert (checklist.place, checklist.country) == ("Utopia", "Utopia")
    assert checklist.answer_format == 'Reply with {"answer": "A"}'
    assert checklist.people == checklist.paper_people == People(PROFILE, NAMES, (30, 50))
    assert checklist.contexts[0] == Context("base")
    assert checklist.contexts[1].attributes == ("size", "coast")
    assert [context.background for context in checklist.contexts] == ["none", "truth", "random"]
    assert [(topic.statistic.id, topic.direction) for topic in checklist.topics] == [
        ("tea_rate", "highest"),
        ("tea_rate", "lowest"),
        ("fall_rate", "highest"),
        ("fall_rate", "lowest"),
    ]
    assert [scenario.ages for scenario in checklist.topic("tea_rate", "highest").scenarios] == [
        None,
        (40, 60),
    ]


def test_statistics_hold_the_truth_in_force(tmp_path: Path) -> None:
    write(tmp_path)
    fall = loaded(tmp_path).statistics[1]
    truths = {"size": Truth("Short", "Tall", fragile=("lowest",))}
    assert fall == Statistic("fall_rate", "Fall Rate", "Falls per year.", "negative", truths)


def test_attributes_keep_words_and_aliases(tmp_path: Path) -> None:
    write(tmp_path)
    size = loaded(tmp_path).attribute("size")
    assert (size.groups, size.k) == (("Tall", "Short"), 2)
    assert (dict(size.words), dict(size.aliases)) == (
        {"Tall": "tall", "Short": "short"},
        {"Tall": ("big",), "Short": ()},
    )


def test_crossed_attribute_is_the_product(tmp_path: Path) -> None:
    labels = "{highest: Tall West, lowest: Short North}"
    breakdown = f"    tall_coast:\n      kind: rate\n      truths: {{audited: {labels}}}\n"
    crossed = changed(
        STATISTICS,
        ("waivers:", "  tall_coast: {crossed: [size, coast]}\nwaivers:"),
        ("  fall_rate:", breakdown + "  fall_rate:"),
    )
    write(tmp_path, statistics=crossed)
    attribute = loaded(tmp_path).attribute("tall_coast")
    assert attribute.groups == (
        "Tall North",
        "Tall South",
        "Tall West",
        "Short North",
        "Short South",
        "Short West",
    )
    assert attribute.crossed == ("size", "coast")
    assert attribute.words["Short West"] == "short western"
    assert attribute.aliases["Tall South"] == (
        "tall southern",
        "big southern",
        "southern tall",
        "southern big",
    )


def test_topics_choose_the_statistics(tmp_path: Path) -> None:
    """Statistics without a topic are left out, with the attributes that only they have."""
    start, end = CHECKLIST.index("  tea_rate:"), CHECKLIST.index("  fall_rate:")
    write(
        tmp_path,
        checklist=changed(
            CHECKLIST[:start] + CHECKLIST[end:],
            (" from the {coast} coast", ""),
            ("'In {place}, {", "'In {country}, {"),
        ),
    )
    checklist = loaded(tmp_path)
    assert [statistic.id for statistic in checklist.statistics] == ["fall_rate"]
    assert [attribute.name for attribute in checklist.attributes] == ["size"]
    assert checklist.contexts[1].attributes == ("size",)


def test_objective_alone_asks_about_every_statistic(tmp_path: Path) -> None:
    write(tmp_path, checklist=CHECKLIST[: CHECKLIST.index("subjective:")])
    checklist = loaded(tmp_path)
    assert [statistic.id for statistic in checklist.statistics] == ["tea_rate", "fall_rate"]
    assert (checklist.topics, checklist.contexts) == ((), ())
    assert checklist.people == People("", (), ())


def test_paper_pools_replace_what_they_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        checklist=changed(CHECKLIST, ("  ages: [30, 50]\n", "  ages: [30, 50]\n  paper: {ages: [15]}\n")),
    )
    assert loaded(tmp_path).paper_people == People(PROFILE, NAMES, (15,))


def test_blanks_around_text_do_not_count(tmp_path: Path) -> None:
    lines = (
        "scenarios:",
        "- >",
        "  Everybody stands. Which of these {people}",
        "  is least likely to fall?",
        "",
    )
    folded = "\n      ".join(lines)
    start = CHECKLIST.rindex("scenarios:")
    write(tmp_path, checklist=CHECKLIST[:start] + folded)
    text = "Everybody stands. Which of these {people} is least likely to fall?"
    assert loaded(tmp_path).topic("fall_rate", "lowest").scenarios == (Scenario(text),)


def test_statistics_may_stand_in_the_checklist(tmp_path: Path) -> None:
    write(tmp_path)
    apart = loaded(tmp_path)
    inline = "statistics:\n" + "".join(f"  {line}\n" for line in STATISTICS.splitlines())
    write(tmp_path, checklist=changed(CHECKLIST, ("statistics: facts.yaml\n", inline)))
    (tmp_path / "facts.yaml").unlink()
    assert loaded(tmp_path) == apart


def test_an_unknown_truth_set_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError) as refused:
        load("tea.yaml", truth="folklore", base=tmp_path)
    assert str(refused.value) == "checklist 'tea' has no truth set 'folklore'; it has: audited"


def test_first_problem_is_reported_and_the_others_counted(tmp_path: Path) -> None:
    message = refused_checklist(
        tmp_path, ("ages: [30, 50]", "ages: [a, b]"), ("title: Tea in Utopia", "title: 1")
    )
    assert message == "tea.yaml:3: title: must be text, not 1; write it in quotes (and 2 more)"


def test_problems_are_reported_of_the_first_file_and_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        checklist=changed(CHECKLIST, ("title: Tea in Utopia", "title: 1")),
        statistics=changed(STATISTICS, ("place: Utopia", "place: 1")),
    )
    with pytest.raises(InputError, match=r"^facts.yaml:2: place: .* \(and 1 more\)$"):
        loaded(tmp_path)
