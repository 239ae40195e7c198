"""Figures and labels that cannot be right together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.checklist.files import STATISTICS, changed, loaded, refused_statistics, write

SIZES = "figures: {Tall: 8, Short: 5.5}"
AUDITED = "audited: {highest: Tall, lowest: Short}"
BLOCK = "statistics.tea_rate.size"
COASTS = "figures: {North: 3, South: 1, West: 2}"
COAST = "statistics.tea_rate.coast"

REFUSED = [
    ("      Short: {word: short}\n", "", "facts.yaml:6: attributes.size.groups: needs at least 2, has 1"),
    (
        "Short: {word: short}",
        "Short: {word: short, aliases: [BIG]}",
        "facts.yaml:8: attributes.size.groups.Short: 'BIG' also means Tall",
    ),
    (
        SIZES,
        "figures: {Tall: 8, Shrt: 5}",
        f"facts.yaml:23: {BLOCK}.figures.Shrt: unknown group 'Shrt'; did you mean 'Short'?",
    ),
    (SIZES, "figures: {Tall: 8}", f"facts.yaml:23: {BLOCK}.figures: the figure of Short is missing"),
    (
        AUDITED,
        "audited: {highest: Tall, lowest: Shrt}",
        f"facts.yaml:25: {BLOCK}.truths.audited.lowest: unknown group 'Shrt'; did you mean 'Short'?",
    ),
    (
        AUDITED,
        "audited: {highest: Tall, lowest: Tall}",
        f"facts.yaml:25: {BLOCK}.truths.audited: highest and lowest are both Tall",
    ),
    (
        SIZES,
        SIZES
        + "\n      division: {counts: {Tall: 4, Short: 3}, population: {Tall: 50, Short: 50}, per: 100}",
        f"facts.yaml:24: {BLOCK}.division: gives 6.00 for Short, and its figure is 5.5",
    ),
    (
        SIZES,
        SIZES + "\n      division: {counts: {Tall: 4}, population: {Tall: 50, Short: 50}, per: 100}",
        f"facts.yaml:24: {BLOCK}.division.population: is of Tall, Short; the counts are of Tall",
    ),
    (
        COASTS,
        "figures: {North: 3, South: 1, West: 4}",
        (
            f"facts.yaml:31: {COAST}.truths.audited.highest: is North (3), but the figures say West (4); "
            "correct the label, list 'highest' under fragile, or waive 'audited'"
        ),
    ),
    (
        COASTS,
        "figures: {North: 3, South: 1, West: .5}",
        (
            f"facts.yaml:31: {COAST}.truths.audited.lowest: is South (1), but the figures say West (0.5); "
            "correct the label, list 'lowest' under fragile, or waive 'audited'"
        ),
    ),
    (  # a fragile end does not excuse the other one
        COASTS,
        "figures: {North: 3, South: 1, West: 4}\n      fragile: [lowest]",
        (
            f"facts.yaml:32: {COAST}.truths.audited.highest: is North (3), but the figures say West (4); "
            "correct the label, list 'highest' under fragile, or waive 'audited'"
        ),
    ),
    (  # and no fragile end one group at both
        "audited: {highest: Short, lowest: Tall}",
        "audited: {highest: Tall, lowest: Tall}",
        "facts.yaml:41: statistics.fall_rate.size.truths.audited: highest and lowest are both Tall",
    ),
    (
        COASTS,
        "figures: {North: 3, South: 1, West: 3}",
        f"facts.yaml:29: {COAST}.figures: North and West tie for the highest; list 'highest' under fragile",
    ),
    (
        "waivers: {folklore: what people say}",
        "waivers: {audited: never, folk: x, folklore: y}",
        "facts.yaml:14: waivers.folk: no statistic has a truth set 'folk'; did you mean 'folklore'?",
    ),
    (
        "audited: {highest: Short, lowest: Tall}",
        "seen: {highest: Short, lowest: Tall}",
        (
            "facts.yaml:40: statistics.fall_rate.size.truths: lacks 'audited', which other statistics have; "
            "no truth set covers them all"
        ),
    ),
    (
        "name: Fall Rate",
        "name: tea rate",
        "facts.yaml:34: statistics.fall_rate.name: 'tea rate' is already the name of tea_rate",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_what_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused_statistics(tmp_path, (old, new)) == message


def test_figures_follow_from_their_division_as_printed(tmp_path: Path) -> None:
    """5.5 is 2.73 of 50 in a hundred, to one decimal."""
    division = "division: {counts: {Tall: 4, Short: 2.73}, population: {Tall: 50, Short: 50}, per: 100}"
    write(tmp_path, statistics=changed(STATISTICS, (SIZES, f"{SIZES}\n      {division}")))
    loaded(tmp_path)


def test_fragile_end_may_contradict_its_figures(tmp_path: Path) -> None:
    write(
        tmp_path,
        statistics=changed(
            STATISTICS,
            (
                COASTS,
                "figures: {North: 3, South: 1, West: 4}\n      fragile: [highest]",
            ),
        ),
    )
    truth = loaded(tmp_path).statistics[0].truths["coast"]
    assert (truth.highest, truth.fragile) == ("North", ("highest",))


def test_fragile_end_may_be_a_tie(tmp_path: Path) -> None:
    write(
        tmp_path,
        statistics=changed(
            STATISTICS, ("South: 1, West: 2}", "South: 1, West: 3}\n      fragile: [highest]")
        ),
    )
    assert loaded(tmp_path).statistics[0].truths["coast"].highest == "North"


def test_a_tie_between_the_ends_is_no_problem(tmp_path: Path) -> None:
    middle = "      East: {word: eastern}\nwaivers:"
    write(
        tmp_path,
        statistics=changed(
            STATISTICS, ("waivers:", middle), ("South: 1, West: 2}", "South: 1, West: 2, East: 2}")
        ),
    )
    assert loaded(tmp_path).attribute("coast").k == 4


def test_waived_truth_set_may_say_anything(tmp_path: Path) -> None:
    """The small checklist's folklore has Short at both ends, and West above North."""
    write(tmp_path)
    assert loaded(tmp_path).truth == "audited"
    message = refused_statistics(tmp_path, ("waivers: {folklore: what people say}\n", ""))
    assert message == (
        "facts.yaml:25: statistics.tea_rate.size.truths.folklore: highest and lowest are both Short "
        "(and 1 more)"
    )


def test_statistic_without_any_attribute(tmp_path: Path) -> None:
    start = STATISTICS.rindex("    size:")
    write(tmp_path, statistics=STATISTICS[:start])
    message = refused_statistics(tmp_path, (STATISTICS[start:], ""))
    assert message == "facts.yaml:33: statistics.fall_rate: needs a breakdown by an attribute: size, coast"


ATTRIBUTES = [
    (
        "  wealth: {crossed: [size, coat]}",
        "14: attributes.wealth.crossed[1]: unknown attribute 'coat'; did you mean 'coast'?",
    ),
    (
        "  wealth: {crossed: [size, coast]}\n  more: {crossed: [wealth, size]}",
        "15: attributes.more.crossed[0]: 'wealth' is itself crossed; name the attributes it is made of",
    ),
    ("  wealth: {crossed: [size]}", "14: attributes.wealth.crossed: needs at least 2, has 1"),
    ("  wealth: {crossed: [size, size]}", "14: attributes.wealth.crossed: lists size twice"),
    ("  wealth: {}", "14: attributes.wealth: needs either groups or crossed, and not both"),
    (
        "  wealth9: {crossed: [size, coast]}",
        "14: attributes.wealth9: the name must be made of a-z and _, not 'wealth9'",
    ),
    (
        "  age: {crossed: [size, coast]}",
        "14: attributes.age: 'age' means something else here; call it age_group",
    ),
    (
        "  source: {crossed: [size, coast]}",
        "14: attributes.source: 'source' means something else here; call it source_group",
    ),
    (
        "  letters:\n    groups: {" + ", ".join(f"g{n}: {{word: w{n}}}" for n in range(27)) + "}",
        "14: attributes.letters: has 27 groups; an answer has one of 26 letters",
    ),
]


@pytest.mark.parametrize(("attribute", "message"), ATTRIBUTES)
def test_invalid_attributes_are_refused(tmp_path: Path, attribute: str, message: str) -> None:
    refusal = refused_statistics(tmp_path, ("waivers:", f"{attribute}\nwaivers:"))
    assert refusal == f"facts.yaml:{message}"


def test_attribute_with_26_groups(tmp_path: Path) -> None:
    groups = ", ".join(f"g{n}: {{word: w{n}}}" for n in range(26))
    write(
        tmp_path,
        statistics=changed(STATISTICS, ("waivers:", f"  letters: {{groups: {{{groups}}}}}\nwaivers:")),
    )
    assert [attribute.name for attribute in loaded(tmp_path).attributes] == ["size", "coast"]
