"""A repository of made-up scenes, in the format of the authors' tables, as a UTF-8 file with a byte order mark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_factorfair.benchmarks.dofair.importing import RACES, TABLES

REGIONS = ("Middle Earth", "Narnia")

GENDERS = (
    (["male"], ["male"]),
    (["female"], ["male", "female"]),
    (["male"], ["male", "female"]),
    (["female"], ["female"]),
    (["male", "female"], ["male", "female"]),
)
"""Who dominates and who is involved, in turn."""

RACE_LISTS = (
    (["White"], ["White"]),
    (["Latino"], ["Latino", "White", "Black"]),
    (["Black", "Indian"], ["Indian", "Black", "Middle Eastern"]),
    (["East Asian"], ["East Asian", "Southeast Asian"]),
    (["White", "Black"], [*RACES]),
)

CONSTANTS = """
import os
UNUSED = os.environ
IMAGE_GENERATION_PROMPT = 'Draw the {} at {}.'
RACE_DIVERSITY_PROMPT = ', where a {} may be of any race.'
GENDER_DIVERSITY_PROMPT = ', where a {} may be anybody.'
RACE_DIVERSITY_PROMPT_2 = ' of many races.'
GENDER_DIVERSITY_PROMPT_2 = ' of many genders.'
"""


def table(attribute: str, lists: Sequence[tuple[list[str], list[str]]], rows: int) -> str:
    """A table of made-up events, with these lists in turn."""
    lines = [f"culture,event_name,group,dominant_{attribute}_list,existence_{attribute}_list,img_path"]
    for number in range(rows):
        dominant, involved = lists[number % len(lists)]
        lines.append(
            f'{REGIONS[number % 2]},"Feast {number}, of the king",Guests,"{dominant}","{involved}",x.png'
        )
    return "\n".join(lines) + "\n"


def repository(folder: Path, *, rows: int = 10) -> Path:
    """The folder with both tables and the constants; the two share the prompts of their rows."""
    gender, race, constants = TABLES
    (folder / "output").mkdir()
    (folder / gender).write_text(table("gender", GENDERS, rows), encoding="utf-8-sig")
    (folder / race).write_text(table("race", RACE_LISTS, rows), encoding="utf-8")
    (folder / constants).write_text(CONSTANTS, encoding="utf-8")
    return folder
