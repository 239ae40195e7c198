"""What a test sees of a page that is open in the browser."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

Scheme: TypeAlias = Literal["light", "dark"]
SCREENS = pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1440), ("dark", 390)], ids=["desk", "phone"]
)
"""Each colour scheme and each width once: no rule of axe looks at both."""


class Opened(NamedTuple):
    """A page with its console messages and network requests."""

    page: Page
    console: list[str]
    requests: list[str]

    def settle(self) -> None:
        """Wait until all started charts are drawn."""
        self.page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg'))"
        )

    def violations(self, within: str = "html") -> list[str]:
        """The findings of axe, except minor ones, in the elements that a selector matches.

        Axe takes seconds for a whole page: where only a dialog is new, it looks at the dialog. Contact sheets
        are gone afterwards: measure the page first.
        """
        # Axe copies the source of elements again and again: megabytes, where a contact sheet is in the page.
        self.page.evaluate("document.querySelectorAll('#pictures img').forEach((sheet) => sheet.src = '')")
        self.page.evaluate((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
        # Other results than violations cost four times as much, and the contrast of text in charts, which axe
        # cannot tell, as much again.
        audit = self.page.evaluate(
            "(within) => axe.run({include: [[within]], exclude: [['svg text']]}, {resultTypes: ['violations']})",
            within,
        )
        return [
            f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
            for violation in audit["violations"]
            if violation["impact"] != "minor"
        ]


Open: TypeAlias = Callable[..., AbstractContextManager[Opened]]
"""From the path of a page, its colour scheme and its width."""
