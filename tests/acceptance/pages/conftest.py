"""A real headless browser for tests of pages; they are skipped if the machine has none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.pages.browser import Open, Opened, Scheme

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="package")  # it runs an event loop, and tests elsewhere need their own
def tab() -> Iterator[Page]:
    """One tab for all tests: in a new one, a page takes three times as long to open."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser.new_page()
        browser.close()


@pytest.fixture
def opened(tab: Page) -> Open:
    """Opens a file in the tab, as it is without what a test did before."""

    @contextmanager
    def open_(path: Path, *, scheme: Scheme = "light", width: int = 1440) -> Iterator[Opened]:
        shown = Opened(tab, [], [])
        listeners = {
            "console": lambda message: shown.console.append(message.text),
            "pageerror": lambda error: shown.console.append(str(error)),
            "request": lambda request: shown.requests.append(request.url),
        }
        tab.goto("about:blank")
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme, media="null")
        for event, listener in listeners.items():
            tab.on(event, listener)  # type: ignore[call-overload]  # one overload per event
        try:
            tab.goto(path.as_uri())
            shown.settle()
            yield shown
        finally:
            for event, listener in listeners.items():
                tab.remove_listener(event, listener)

    return open_
