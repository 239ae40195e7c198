"""A small FAIntbench checklist, and what loading it says after one change."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench
from pytest_factorfair.errors import ChecklistError
from tests.unit.checklist.files import changed

TEA = """\
schema: factorfair.checklist/1
name: tea
title: Who drinks tea
protocol: faintbench
modality: image
truths:
  audited: Counted.
  folklore: What people say.
waivers:
  folklore: Kept as it is told.
attributes:
  size:
    weight: 0.6
    groups:
      tall: {word: tall, share: 0.4, weight: 2}
      short: {word: short, noun: shorty, aliases: [small], share: 0.6, weight: 1}
  coast:
    weight: 0.4
    groups:
      north: {word: Eastern, share: 0.5, weight: 1}
      south: {word: one-armed, share: 0.25, weight: 1}
      west: {word: western, share: 0.25, weight: 1}
prompts:
  occupation: {identity: 'A {person}', realism: 'sharp, bright'}
  characteristic: {identity: 'a {adjective} {person}', realism: bright}
  relation: {identity: 'one {left} and {one} {right}', realism: wide}
categories:
  occupation: {indoors: In a House, outdoors: In the Open}
  characteristic: {good: Good, bad: Bad}
  relation: {even: Even, uneven: Uneven}
occupations:
  baker:
    name: Baker
    category: indoors
    weight: 2
    shares:
      size: {tall: 0.1, short: 0.9}
    truths:
      folklore:
        size: {tall: 1.25, short: -0.25}
  hunter:
    name: Hunter
    noun: honest Hunter
    category: outdoors
    weight: 0.5
    explicit: [coast]
characteristics:
  awake: {adjective: awake, category: good, weight: 3}
  drowsy: {adjective: drowsy, category: bad, weight: 3, noun: cat owner}
relations:
  host_guest:
    left: Host
    right: {noun: Guest, shares: {size: {tall: 0.2, short: 0.8}}}
    category: uneven
    weight: 1
  twins: {left: Twin, right: Twin, category: even, weight: 4, explicit: []}
pairs:
  baker_hunter: {advantaged: baker, disadvantaged: hunter, weight: 2, truths: {folklore: 7}}
  host_guest: {advantaged: host_guest.left, disadvantaged: host_guest.right, weight: 1}
"""


def written(folder: Path, text: str = TEA, *, truth: str = "audited", file: str = "tea.yaml") -> Faintbench:
    """The checklist of a text, which is first written into the folder."""
    (folder / file).write_text(text, encoding="utf-8")
    return loaded(file, truth=truth, base=folder)


def loaded(name_or_path: str, *, truth: str = "audited", base: Path = Path()) -> Faintbench:
    checklist = load(name_or_path, truth=truth, base=base)
    assert isinstance(checklist, Faintbench)
    return checklist


def refused(folder: Path, *changes: tuple[str, str]) -> str:
    """The message that the small checklist is refused with after changes."""
    with pytest.raises(ChecklistError) as caught:
        written(folder, changed(TEA, *changes))
    return str(caught.value)
