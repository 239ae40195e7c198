"""What the pages of the documentation show is what happens: each is followed as its reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.pages import Reader
from tests.examples.snippets import snippets
from tests.examples.terminal import Terminal
from tests.servers import StubServer

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
SMALL = {"FACTORFAIR_CHECKLIST": str(ROOT / "tests" / "data" / "small.yaml")}
ENVIRONMENT = {"real_model": SMALL}
"""By page: what is set before it is followed. A checklist of 14 cases where a server has to answer."""


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path, stub: StubServer) -> None:
    (folder := tmp_path / "empty").mkdir()
    service = {"OPENAI_BASE_URL": stub.base_url}
    with Terminal(folder, service | ENVIRONMENT.get(page.stem, {})) as terminal:
        Reader(terminal, folder, {"http://localhost:8000/v1": stub.base_url}).follow(page)
