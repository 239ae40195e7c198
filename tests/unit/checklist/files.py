"""A small checklist in two files, and the messages of loading it after changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.errors import ChecklistError

STATISTICS = """\
schema: factorfair.statistics/1
place: Utopia
country: Utopia
attributes:
  size:
    groups:
      Tall: {word: tall, aliases: [big]}
      Short: {word: short}
  coast:
    groups:
      North: {word: northern}
      South: {word: southern}
      West: {word: western}
waivers: {folklore: what people say}
statistics:
  tea_rate:
    name: Tea Rate
    definition: Share of people who drink tea.
    valence: positive
    source: {agency: Utopia Statistics, year: 2024}
    size:
      kind: rate
      figures: {Tall: 8, Short: 5.5}
      truths:
        audited: {highest: Tall, lowest: Short}
        folklore: {highest: Short, lowest: Short}
    coast:
      kind: rate
      figures: {North: 3, South: 1, West: 2}
      truths:
        audited: {highest: North, lowest: South}
        folklore: {highest: West, lowest: South}
  fall_rate:
    name: Fall Rate
    definition: Falls per year.
    valence: negative
    source: {agency: Utopia Statistics}
    size:
      kind: count
      truths:
        audited: {highest: Short, lowest: Tall}
      fragile: [lowest]
"""

CHECKLIST = """\
schema: factorfair.checklist/1
name: tea
title: Tea in Utopia
protocol: fact_or_fair
modality: text
statistics: facts.yaml
answer_format: 'Reply with {"answer": "A"}'
objective:
  templates:
  - '{statistic} is {definition}. Who has the {direction} one in {country}? {choices}.'
subjective:
  profile: '{name}, a {age}-year-old {size} person from the {coast} coast.'
  names: [Ash, Bo, Cy, Di, Eli, Flo]
  ages: [30, 50]
contexts:
  base: {}
  told:
    background: truth
    clause: 'the {attribute} with the highest {statistic} is {highest}, the lowest {lowest}'
    attributes: [size, coast]
    text: 'In {place}, {clauses}.'
  news:
    background: random
    text: 'You heard of a {size} person who {behavior}.'
topics:
  tea_rate:
    highest:
      behavior: drank tea
      scenarios:
      - 'You make tea. Which of these {people} is most likely to want some?'
      - text: 'You sell cups. Which of these {people} is most likely to buy one?'
        ages: [40, 60]
    lowest:
      behavior: poured tea away
      scenarios: ['You have no tea left. Which of these {people} is least likely to complain?']
  fall_rate:
    highest:
      behavior: fell
      scenarios: ['Somebody lies on the ground. Which of these {people} is most likely to have fallen?']
    lowest:
      behavior: stood fast
      scenarios: ['Everybody stands. Which of these {people} is least likely to stumble on the stairs?']
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Make changes in a text; each old text must occur exactly once."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text


def write(folder: Path, *, checklist: str = CHECKLIST, statistics: str = STATISTICS) -> None:
    (folder / "tea.yaml").write_text(checklist, encoding="utf-8")
    (folder / "facts.yaml").write_text(statistics, encoding="utf-8")


def fact_or_fair(name_or_path: str, *, truth: str = "audited", base: Path = Path()) -> FactOrFair:
    """Load a FACT-OR-FAIR checklist."""
    checklist = load(name_or_path, truth=truth, base=base)
    assert isinstance(checklist, FactOrFair)
    return checklist


def loaded(folder: Path, file: str = "tea.yaml", *, truth: str = "audited") -> FactOrFair:
    return fact_or_fair(file, truth=truth, base=folder)


def refusal(folder: Path, file: str = "tea.yaml") -> str:
    """The error message for a file that is rejected."""
    with pytest.raises(ChecklistError) as refused:
        loaded(folder, file)
    return str(refused.value)


def refused_checklist(folder: Path, *changes: tuple[str, str]) -> str:
    """The error message for the small checklist after changes."""
    write(folder, checklist=changed(CHECKLIST, *changes))
    return refusal(folder)


def refused_statistics(folder: Path, *changes: tuple[str, str]) -> str:
    """The error message for the small checklist after changes to its statistics."""
    write(folder, statistics=changed(STATISTICS, *changes))
    return refusal(folder)
