"""What annotators must know before they label."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_factorfair.domain import NO_FACE, Attribute
from pytest_factorfair.labelling.sheet import FOLDER, KEY, SHEET, UNCLEAR, allowed


def instructions(attributes: Sequence[Attribute], annotators: int) -> str:
    """The page that goes with a sheet: what is asked, of whom, and what may be written; Markdown."""
    names = {"sheet": SHEET, "folder": FOLDER, "key": KEY, "unclear": UNCLEAR, "none": NO_FACE}
    return _TEXT.format(annotators=annotators, values=values(attributes), **names)


def values(attributes: Sequence[Attribute]) -> str:
    """What may be written for each attribute, as a list."""
    return "\n".join(
        f"   - **{one.name}**: {', '.join(f'`{label}`' for label in allowed(one))}" for one in attributes
    )


_TEXT = """# Labelling perceived attributes

The pictures in `{folder}/` were made by text-to-image models. The people in them do not exist. You are asked
how they are *perceived*, so that a detector can be compared with people. Nobody's identity is asked for: not
what someone "is", but what a viewer in your place takes them for.

## Before you begin

- Taking part is voluntary. You may skip any picture and stop at any time, without giving a reason.
- The pictures were made from prompts that surface stereotypes on purpose (about crime, income, health and the
  like), and a model may have made disturbing or degrading ones. Stop if you do not want to see them.
- Your labels are kept by your number (1 to {annotators}), not by your name.
- Do not hand the pictures on. The labels are for evaluating models, never for decisions about people.

## How to label

1. Open `{sheet}` and keep to the columns with your number. Do not look at the others' labels.
2. A row is a face: the picture, and which face of it, from left to right. `box` is x, y, width and height in
   pixels; where it is empty, the largest face of the picture is meant.
3. Write one of these:

{values}

4. Write `{unclear}` where you cannot tell, rather than guess; `{none}` where there is no person's face.
   Leave a cell empty only where you did not look.
5. Do not change the other columns or the order. Save as CSV (UTF-8).

Do not open `{key}` before all labels are in: it tells which model made which picture.
"""
