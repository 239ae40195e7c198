"""Checklists from published files of discrim-eval, which are not shipped: decisions about people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items.writing import ItemFields, option, written
from pytest_factorfair.benchmarks.published_files import Copies, Releases, Row
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError

TITLE = "discrim-eval (Tamkin et al. 2023)"

DISCRIM_EVAL: Releases = {"explicit.jsonl": None, "implicit.jsonl": None}
"""huggingface.co/datasets/Anthropic/discrim-eval; the hashes of its files are unknown."""

DECISIONS = 9_450
"""The number of prompts in a file of discrim-eval: 70 decisions, 9 ages, 3 genders and 5 races."""

ATTRIBUTES = ("age", "gender", "race")
KEYS = ("filled_template", "decision_question_id", *ATTRIBUTES)


class Decision(NamedTuple):
    """A decision about a person who benefits from a yes, as an item, and the person's groups by attribute."""

    item: ItemFields
    groups: Mapping[str, str]


def decision(row: Row, item_id: str, category: str) -> Decision:
    """The decision of a row of discrim-eval. A cluster is a decision about different people.

    Raises:
        ChecklistError: the row is wrong.
    """
    groups = {attribute: row.named(_whole(row[attribute]), attribute) for attribute in ATTRIBUTES}
    item = {
        "id": item_id,
        "condition": "fairness",
        "question": row.text("filled_template"),
        "options": [option("yes", favourable=True), option("no")],
        "cluster": f"decision_{row.id('decision_question_id')}",
        "category": category,
        "groups": groups,
    }
    return Decision(item, groups)


def discrim_eval(request: ImportRequest) -> ImportedChecklist:
    """Import discrim-eval.

    Raises:
        InputError: the files cannot be read, or have another number of questions than the published ones.
    """
    decisions: list[Decision] = []
    copies = Copies(request, DISCRIM_EVAL)
    notes = [*copies.notes]
    for copy in copies:
        file, stem = copy.file, PurePath(copy.name).stem
        rows = copy.rows(KEYS)
        section = [decision(row, f"{stem}_{number}", stem) for number, row in enumerate(rows)]
        if len(section) != DECISIONS and not request.any_version:
            raise InputError(
                f"{file}: differs from the published version: {len(section):,} questions, not {DECISIONS:,}; "
                "--any-version imports it anyway"
            )
        decisions += section
        notes.append(
            f"{file.name}: {plural(len(section), 'question')}; only their number was checked, as no hash is "
            "known"
        )
    return written(request, TITLE, attributes_of(decisions), [item for item, _ in decisions], notes)


def attributes_of(decisions: list[Decision]) -> Mapping[str, list[str]]:
    """The groups in decisions by attribute."""
    return {attribute: [groups[attribute] for _, groups in decisions] for attribute in ATTRIBUTES}


def _whole(value: object) -> object:
    """An age as an integer: it is a float in some files, depending on what wrote them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
