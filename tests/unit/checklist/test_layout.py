"""The valid forms of single fields, and the messages about invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.checklist.files import refused_checklist, refused_statistics

STATISTICS_FIELDS = [
    ("place: Utopia\n", "", "facts.yaml:1: place: missing"),
    (
        "schema: factorfair.statistics/1",
        "schema: factorfair.statistics/2",
        "facts.yaml:1: schema: must be factorfair.statistics/1, not factorfair.statistics/2",
    ),
    (
        "schema: factorfair.statistics/1\n",
        "",
        "facts.yaml:1: schema: missing; the file begins with 'schema: factorfair.statistics/1'",
    ),
    (
        "figures: {Tall: 8, Short: 5.5}",
        "figures: {Tall: many, Short: 5}",
        "facts.yaml:23: statistics.tea_rate.size.figures.Tall: must be a number, not 'many'",
    ),
    (
        "figures: {Tall: 8, Short: 5.5}",
        "figures: {Tall: .inf, Short: 5}",
        "facts.yaml:23: statistics.tea_rate.size.figures.Tall: must be a finite number, not inf",
    ),
    (
        "figures: {Tall: 8, Short: 5.5}",
        "figurs: {Tall: 8, Short: 5.5}",
        "facts.yaml:23: statistics.tea_rate.size.figurs: unknown key; did you mean 'figures'?",
    ),
    (
        "audited: {highest: Tall, lowest: Short}",
        "audited: {highest: Tall}",
        "facts.yaml:25: statistics.tea_rate.size.truths.audited.lowest: missing",
    ),
    (
        "    coast:\n      kind",
        "    coats:\n      kind",
        "facts.yaml:27: statistics.tea_rate.coats: unknown key; did you mean 'coast'?",
    ),
    (
        "    definition: Falls",
        "    definitoin: Falls",
        "facts.yaml:35: statistics.fall_rate.definitoin: unknown key; did you mean 'definition'?",
    ),
    (
        "valence: negative",
        "valence: negativ",
        (
            "facts.yaml:36: statistics.fall_rate.valence: must be 'positive' or 'negative', not 'negativ'; "
            "did you mean 'negative'?"
        ),
    ),
    (
        "aliases: [big]",
        "aliases: big",
        "facts.yaml:7: attributes.size.groups.Tall.aliases: must be a list, not 'big'",
    ),
    (
        "agency: Utopia Statistics}",
        "agency: 5}",
        "facts.yaml:37: statistics.fall_rate.source.agency: must be text, not 5; write it in quotes",
    ),
    (
        "    source: {agency: Utopia Statistics}\n",
        "",
        "facts.yaml:33: statistics.fall_rate.source: missing",
    ),
    (
        "  fall_rate:",
        "  Fall Rate:",
        "facts.yaml:33: statistics.Fall Rate: the name must be made of a-z, 0-9 and _, not 'Fall Rate'",
    ),
    ("  fall_rate:", "  tea_rate:", "facts.yaml:33: statistics.tea_rate: is given twice, first on line 16"),
    (
        "fragile: [lowest]",
        "fragile: [lowest, lowest]",
        "facts.yaml:42: statistics.fall_rate.size.fragile: lists lowest twice",
    ),
    (
        "North: {word: northern}",
        "'North, up': {word: northern}",
        (
            "facts.yaml:11: attributes.coast.groups.North, up: the name must be one line of text "
            "without commas "
            "and braces, not 'North, up'"
        ),
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), STATISTICS_FIELDS)
def test_fields_of_statistics_are_validated(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused_statistics(tmp_path, (old, new)) == message


CHECKLIST_FIELDS = [
    (
        "schema: factorfair.checklist/1",
        "schema: factorfair.statistics/1",
        "tea.yaml:1: schema: must be factorfair.checklist/1, not factorfair.statistics/1",
    ),
    ("modality: text", "modality: smell", "tea.yaml:5: modality: must be 'text' or 'image', not 'smell'"),
    ("name: tea", "name: Tea Time", "tea.yaml:2: name: must be made of a-z, 0-9 and _, not 'Tea Time'"),
    ("title: Tea in Utopia", "title: no", "tea.yaml:3: title: must be text, not false; write it in quotes"),
    ("title: Tea in Utopia\n", "", "tea.yaml:1: title: missing"),
    (
        "title: Tea",
        "titel: Tea",
        "tea.yaml:3: titel: unknown key; did you mean 'title'?",
    ),
    ("statistics: facts.yaml", "statistics: fact.yaml", "tea.yaml:6: statistics: there is no file fact.yaml"),
    (
        "statistics: facts.yaml",
        "statistics: https://example.org/facts.yaml",
        "tea.yaml:6: statistics: must be the path of a file, relative to this one; nothing is fetched",
    ),
    (
        "statistics: facts.yaml",
        "statistics: [facts.yaml]",
        "tea.yaml:6: statistics: must be a mapping, not a list",
    ),
    ("statistics: facts.yaml\n", "", "tea.yaml:1: statistics: missing"),
    ("  base: {}", "  base:", "tea.yaml:16: contexts.base: must be a mapping, not empty"),
    (
        "  base: {}",
        "  base-line: {}",
        "tea.yaml:16: contexts.base-line: the name must be made of a-z, 0-9 and _, not 'base-line'",
    ),
    (
        "background: random",
        "background: randm",
        (
            "tea.yaml:23: contexts.news.background: must be 'none', 'truth' or 'random', not 'randm'; "
            "did you mean 'random'?"
        ),
    ),
    (
        "    highest:\n      behavior: fell\n",
        "    hihgest:\n      behavior: fell\n",
        "tea.yaml:37: topics.fall_rate.hihgest: unknown key; did you mean 'highest'?",
    ),
    (
        "ages: [30, 50]",
        "ages: [30, '50']",
        "tea.yaml:14: subjective.ages[1]: must be a whole number, not '50'",
    ),
    ("ages: [30, 50]", "ages: []", "tea.yaml:14: subjective.ages: needs at least 1, has 0"),
    ("ages: [30, 50]", "ages: [30, 500]", "tea.yaml:14: subjective.ages[1]: must be at most 150"),
    (
        "ages: [40, 60]",
        "ages: [40]",
        "tea.yaml:32: topics.tea_rate.highest.scenarios[1].ages: needs at least 2, has 1",
    ),
    ("Cy, Di", "Cy, Ash", "tea.yaml:13: subjective.names: lists Ash twice"),
    ("Cy, Di", "Cy, No", "tea.yaml:13: subjective.names[3]: must be text, not false; write it in quotes"),
]


@pytest.mark.parametrize(("old", "new", "message"), CHECKLIST_FIELDS)
def test_fields_of_checklists_are_validated(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused_checklist(tmp_path, (old, new)) == message
