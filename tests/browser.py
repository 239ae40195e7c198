"""A real headless browser for tests of pages; they are skipped if the machine has none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
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

    def violations(self) -> list[str]:
        """The serious and critical findings of axe."""
        self.page.evaluate((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")[
            "violations"
        ]  # others cost 4 x as much
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


Open: TypeAlias = Callable[..., AbstractContextManager[Opened]]


@pytest.fixture(scope="module")  # it runs an event loop, and other tests need their own
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield running
        running.close()


@pytest.fixture
def opened(browser: Browser) -> Open:
    """Opens a file, and closes it again."""

    @contextmanager
    def open_(path: Path, *, scheme: Scheme = "light", width: int = 1440) -> Iterator[Opened]:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        shown = Opened(page, said, asked)
        shown.settle()
        yield shown
        context.close()

    return open_
