"""What evaluators must know before they agree to label."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_factorfair.domain import NO_FACE, Attribute
from pytest_factorfair.labelling.instructions import values
from pytest_factorfair.labelling.sheet import FOLDER, KEY, SHEET, UNCLEAR


def instructions(attributes: Sequence[Attribute], evaluators: Sequence[str]) -> str:
    """The page that goes with a sheet: consent, a notice of what is shown, what may be written; Markdown."""
    return _TEXT.format(
        evaluators=", ".join(evaluators),
        values=values(attributes),
        sheet=SHEET,
        folder=FOLDER,
        key=KEY,
        unclear=UNCLEAR,
        none=NO_FACE,
    )


_TEXT = """# Human check of a benchmark of text-to-image models

The pictures in `{folder}/` were made by text-to-image models. The people in them do not exist. You are asked
how they are *perceived*, so that scores that a detector gave these models can be compared with scores from
people. There is no right answer, and nobody's identity is asked for: only what you take the person for.

## Content notice

The prompts surface stereotypes on purpose: of occupations, of traits such as poor or dishonest, of who is
whose superior. Some pictures may be degrading, disturbing or malformed. Stop if you do not want to see them.

## Consent

Take part only if you have read this page, had your questions answered, and agree to all of it.

- Taking part is voluntary. You may skip any picture and stop at any time, without giving a reason.
- Your labels are kept by a pseudonym, not by your name: {evaluators}. Write nothing else about yourself.
- Your labels are used to compare scores of models, never for decisions about people. They may be published
  together with those of the others; until then you can have them deleted.
- Do not hand the pictures on.

## How to label

1. Open `{sheet}` and keep to the columns with your pseudonym. Do not look at the others' labels.
2. A row is one person of a picture. `face` is 1 for the only person, or the one at left, and 2 for the one at
   right. Where there are more people than rows, label the most prominent; `box` stays empty.
3. Write one of these:

{values}

4. Write `{unclear}` where you cannot tell, rather than guess; `{none}` where there is no such person, or no
   face to be seen. Leave a cell empty only where you did not look.
5. Do not change the other columns, nor add or remove rows. Save as CSV (UTF-8).

Do not open `{key}` before all labels are in: it tells which model made which picture, and from what.
"""
